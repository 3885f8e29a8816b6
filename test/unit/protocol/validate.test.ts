import t from "tap";
import type { TSchema } from "typebox";
import { CallbackBody } from "#protocol/records/durable";
import { ReportRequest, WorkRequest } from "#protocol/records/engine";
import { AcquireRequest } from "#protocol/records/lease";
import { CreateRunBody, CreateRunForFlowBody, ResumeBody, TransitionBody } from "#protocol/records/run";
import { SettingsPatch } from "#protocol/records/server";
import { ROUTES } from "#protocol/routes/routes";
import { parseJson } from "#protocol/values/json";
import { exceedsCharacters } from "#protocol/values/text-length";
import { validate } from "#protocol/values/validate";

const UUID = "018f0000-0000-7000-8000-000000000000";

function errorOf(schema: TSchema, value: unknown): string {
  const checked = validate(schema, value);
  return checked.ok ? "accepted" : checked.error;
}

t.test("errors name the field and what was expected", async (t) => {
  const run = { flow: "f", project: "p" };
  const cases: [TSchema, unknown, string][] = [
    [CreateRunBody, [], "body: expected object"],
    [CreateRunBody, null, "body: expected object"],
    [CreateRunBody, { project: "p" }, "flow: is required (string)"],
    [CreateRunBody, { flow: "", project: "p" }, "flow: expected text that is not empty"],
    [CreateRunBody, { ...run, parameters: [] }, "parameters: expected object"],
    [CreateRunBody, { ...run, tags: ["a", 1] }, "tags[1]: expected string"],
    [CreateRunBody, { ...run, options: { after: { flow: "a", flows: [1] } } }, "options.after.flows[0]: expected string"],
    [
      CreateRunBody,
      { ...run, options: { schedules: [{ kind: "x" }] } },
      "options.schedules[0].kind: expected one of cron, interval, rrule",
    ],
    [
      CreateRunBody,
      { ...run, options: { schedules: [{ kind: "interval", interval: "1" }] } },
      "options.schedules[0].interval: expected number",
    ],
    [WorkRequest, { engine_id: "e", pid: 0, source_dir: "", module: "m" }, "pid: expected at least 1"],
    [AcquireRequest, { run_id: 1, resources: {} }, "resources: expected at least one entry"],
    [AcquireRequest, { run_id: 1, resources: { db: "1" } }, "resources.db: expected number"],
    [AcquireRequest, { run_id: 1, resources: { db: -1 } }, "resources.db: expected at least 0"],
    [AcquireRequest, { run_id: 1, resources: { "a\nb": "1" } }, "resources.a\nb: expected number"],
    [AcquireRequest, { run_id: 1.5, resources: { db: 1 } }, "run_id: expected integer"],
    [SettingsPatch, { retain_days: -1 }, "retain_days: expected at least 0"],
    [ResumeBody, {}, "input: is required"],
  ];
  for (const [schema, value, error] of cases) t.equal(errorOf(schema, value), error);
});

t.test("a malformed report is refused with the place of the first bad event", async (t) => {
  const report = (...events: unknown[]) => ({ engine_id: "e", run_id: 1, events });
  const logs = { kind: "logs", seq: 1, logs: [] };
  const move = { kind: "task_run_transition", seq: 2, external_id: UUID, state: { type: "Running", timestamp: 1 } };
  t.equal(errorOf(ReportRequest, report(logs, move)), "accepted");
  t.match(
    errorOf(ReportRequest, report(logs, { ...move, state: { type: "Nope", timestamp: 1 } })),
    /^events\[1\]\.state\.type: expected one of Scheduled, Pending/,
  );
  t.match(errorOf(ReportRequest, report({ kind: "other", seq: 1 })), /^events\[0\]\.kind: expected one of task_run_created/);
  t.equal(errorOf(ReportRequest, report(3)), "events[0]: expected object");
  t.equal(errorOf(ReportRequest, report({ ...move, external_id: "x" })), "events[0].external_id: expected a UUID");
  const line = { run_id: 1, level: 20, logger: "l", timestamp: 1, message: 5 };
  t.equal(errorOf(ReportRequest, report({ ...logs, logs: [line] })), "events[0].logs[0].message: expected string");
});

t.test("unknown fields are allowed, null is absent only where the interface says so, nothing is converted", async (t) => {
  const body = { flow: "f", project: "p", options: null, name: null, module: null, other: { a: 1 } };
  const checked = validate(CreateRunBody, body);
  t.ok(checked.ok && checked.value === body);
  for (const field of ["parameters", "tags", "flow_tags"])
    t.match(errorOf(CreateRunBody, { ...body, [field]: null }), new RegExp(`^${field}: expected`));
  t.equal(errorOf(CreateRunForFlowBody, {}), "accepted");
  t.equal(errorOf(TransitionBody, { type: "Running", details: null }), "details: expected object");
  t.equal(errorOf(ResumeBody, { input: null }), "accepted");
  t.equal(errorOf(TransitionBody, { type: "Running", force: "true" }), "force: expected boolean");
});

t.test("an integer beyond 2^53 passes inside free content and as an engine's time, and nowhere else", async (t) => {
  const body = (text: string) => parseJson(`{"flow":"f","project":"p",${text}}`);
  t.equal(errorOf(CreateRunBody, body('"parameters":{"x":9007199254740993}')), "accepted");
  t.equal(errorOf(CreateRunBody, body('"parameters":9007199254740993')), "parameters: expected object");
  t.equal(errorOf(CreateRunBody, body('"options":{"priority":9007199254740993}')), "options.priority: expected at most 2^53 - 1");
  t.equal(errorOf(ResumeBody, parseJson('{"input":9007199254740993}')), "accepted");
});

t.test("every number in a body but the times of engines has an upper bound within 2^53", async (t) => {
  // Otherwise an integer that parseJson represents as an object would be accepted where the type is number.
  const unbounded: string[] = [];
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, maximum } = node as { type?: unknown; maximum?: unknown };
    if ((type === "integer" || type === "number") && !(typeof maximum === "number" && maximum <= Number.MAX_SAFE_INTEGER)) {
      unbounded.push(path);
    }
    for (const [key, part] of Object.entries(node)) walk(part, `${path}/${key}`);
  };
  for (const route of ROUTES) walk(route.body, route.operation);
  const events = "report/properties/events/items/anyOf";
  t.same(unbounded, [
    "transitionRun/properties/timestamp/anyOf/0",
    `${events}/1/properties/state/properties/timestamp`,
    `${events}/2/properties/logs/items/properties/timestamp`,
    `${events}/5/properties/state/properties/timestamp`,
    `${events}/7/properties/timestamp`,
  ]);
});

t.test("every body schema has words for what it refuses", async (t) => {
  for (const { body, operation } of ROUTES) {
    // A callback takes any JSON.
    if (body === undefined || body === CallbackBody) continue;
    for (const wrong of [null, 1, "x", [], true]) t.equal(errorOf(body, wrong), "body: expected object", operation);
  }
});

t.test("lengths are counted in code points, and texts far beyond the limit are not counted", async (t) => {
  const max = 8;
  for (const character of ["a", "\u00e9", "\u{1f600}"]) {
    t.equal(exceedsCharacters(character.repeat(max), max), false, character);
    t.equal(exceedsCharacters(character.repeat(max + 1), max), true, character);
  }
  t.equal(exceedsCharacters(`${"\u{1f600}".repeat(max - 1)}ab`, max), true);
  t.equal(exceedsCharacters("a".repeat(10_000_000), max), true);
  const body = { engine_id: "\u{1f600}".repeat(2_000_000), pid: 1, source_dir: "/d", module: "m" };
  t.match(errorOf(WorkRequest, body), /^engine_id: expected at most \d+ characters$/);
});
