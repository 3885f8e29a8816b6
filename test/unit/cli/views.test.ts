import t from "tap";
import { renderArtifact } from "#cli/artifacts/artifacts";
import { eventLine } from "#cli/events/event-tail";
import { renderFlow, renderFlows } from "#cli/flows/flows";
import { whenText } from "#cli/rules/rules";
import { renderRun } from "#cli/runs/run-details";
import { type Output, Terminal } from "#cli/terminal/terminal";
import { jsonOrText } from "#cli/terminal/value";
import { show } from "#cli/terminal/view";
import { type ArtifactListItem, type Event, type FlowSummary, Millrace, type RuleRow, type Run } from "#sdk/client/index";

const TIME = 1_767_225_600_000_000;

const CUSTOM: Event = {
  id: 1,
  external_id: "x",
  seq: 1,
  name: "n",
  occurred: TIME,
  resource: { kind: "custom", id: "", name: "n" },
  related: [],
  payload: {},
  run_id: null,
  flow_id: null,
};

function output(properties: Partial<Output> = {}): Output & { text: string } {
  return {
    ...properties,
    text: "",
    write(text: string) {
      this.text += text;
    },
  };
}

const pipe = new Terminal(output(), {});

function artifact(kind: ArtifactListItem["kind"], data: Record<string, unknown>): string[] {
  const item: ArtifactListItem = {
    id: 3,
    external_id: "x",
    run_id: 7,
    task_run_id: null,
    key: "k",
    kind,
    data,
    created_at: TIME,
    updated_at: TIME,
    run_name: "r",
    flow_name: "daily",
    project: "etl",
  };
  return renderArtifact(item, pipe);
}

t.test("artifacts of each kind as text", async (t) => {
  const [title, place, empty, ...lines] = artifact("markdown", { title: "Notes", text: "# a\n\u001b[31mb" });
  t.equal(title, "Notes");
  t.match(place, /^markdown "k" of run 7, etl\/daily, \d{4}-/);
  t.equal(empty, "");
  t.same(lines, ["# a", "b"]);
  t.same(artifact("table", { columns: ["n", "of"], rows: [{ n: 1, of: { x: 2 } }, [3, null]] }).slice(3), [
    "n  of",
    '1  {"x":2}',
    "3",
  ]);
  t.same(artifact("table", { rows: [] }).slice(3), [""]);
  t.match(artifact("progress", { value: 25, label: "a quarter" }).at(-1), /^#{10}-{30} {2}25 % {2}a quarter$/);
  t.equal(artifact("link", { url: "https://example.org/" }).at(-1), "https://example.org/");
  t.equal(artifact("image", { src: "https://example.org/a.png" }).at(-1), "https://example.org/a.png");
  t.equal(
    artifact("image", { src: "data:image/png;base64,AQID" }).at(-1),
    "data:image/png;base64, 26 characters; --json has them",
  );
});

t.test("what a rule is about", async (t) => {
  const rule = (row: Partial<RuleRow>) => whenText(row as RuleRow);
  t.equal(rule({ when: { events: [] } }), "every event");
  t.equal(
    rule({ when: { events: ["run.failed"], flows: ["a", "b"], states: ["TimedOut"], tags: ["etl"], project: "p" } }),
    "run.failed of a, b in TimedOut tagged etl of project p",
  );
  t.equal(
    rule({ when: { events: ["run.scheduled"] }, unless: { events: ["run.completed"] }, within: 60 }),
    "run.scheduled without run.completed within 60 s",
  );
  t.equal(rule({ at: { cron: "0 6 * * *" }, unless: { events: ["data.in"] } }), "at 0 6 * * * without data.in");
});

t.test("an event in a line", async (t) => {
  const event = (more: Partial<Event>): string => eventLine({ ...CUSTOM, ...more }, pipe);
  t.match(event({ name: "etl.done", payload: { rows: 3 } }), / {2}etl\.done {2}\{"rows":3\}$/);
  t.match(event({ name: "etl.begun" }), / {2}etl\.begun$/);
  const run = { kind: "run", id: "uuid", name: "calm-cat" };
  t.match(
    event({ name: "run.failed", resource: run, run_id: 4, payload: { state_type: "Failed", message: "Error: a\nb" } }),
    / {2}run\.failed {2}run calm-cat {2}#4 {2}Error: a b$/,
  );
});

t.test("a run says what it waits for", async (t) => {
  const details = (type: string, more: Record<string, unknown> = {}) => ({
    run: {
      id: 5,
      name: "n",
      project: "p",
      flow_name: "f",
      state: { type, name: type, message: null, timestamp: TIME, details: more },
      created_at: TIME,
      created_by: "cli",
      start_time: null,
      end_time: null,
      total_run_time: null,
      attempt: 0,
      tags: [],
      parameters: {},
    } as unknown as Run,
    task_runs: [],
    artifacts: [],
    waits: null,
  });
  t.match(renderRun(details("Paused", { prompt: "?" }), pipe)[2], "Answer with: millrace runs input 5 ANSWER");
  t.match(renderRun(details("Paused"), pipe)[2], "It goes on with: millrace runs resume 5");
  const waits = { code: "resource" as const, object: "db", text: "it needs 1 of db; 1 of 1 are held", since: TIME };
  t.match(renderRun({ ...details("Scheduled"), waits }, pipe)[2], "Waits: it needs 1 of db");
});

t.test("values are JSON where they are, else text", async (t) => {
  t.same(["3", "true", "[1]", "null", "x y", '"3"'].map(jsonOrText), [3, true, [1], null, "x y", "3"]);
});

t.test("a screen is filled in place and cut at its height", async (t) => {
  const out = output({ isTTY: true, rows: 4 });
  new Terminal(out, {}).screen(["a", "b", "c", "d"]);
  t.equal(out.text, "\u001b[Ha\u001b[K\nb\u001b[K\n\u001b[2m\u2026 2 more\u001b[22m\u001b[K\n\u001b[J");
});

t.test("a view is shown once as text or as JSON", async (t) => {
  const view = { read: async () => [1, 2], lines: (data: number[]) => data.map(String), messages: {}, changedBy: () => false };
  for (const [json, text] of [
    [false, "1\n2\n"],
    [true, "[\n  1,\n  2\n]\n"],
  ] as const) {
    const written = t.capture(process.stdout, "write", () => true);
    const code = await show(new Millrace({ url: "http://127.0.0.1:1" }), { json }, view);
    const texts = written().map(({ args }) => String(args[0]));
    written.restore();
    t.equal(code, 0);
    t.equal(texts.join(""), text);
  }
});

t.test("a flow whose declared schedule is wrong is served, and says what is wrong", async (t) => {
  const flow: FlowSummary = {
    ...{ id: 1, external_id: "x", project: "p", name: "daily", module: "m.ts", source_dir: "/d", description: null, group: "p" },
    ...{ tags: [], parameter_schema: {}, options: {}, live: true, error: null, created_at: TIME, last_seen_at: TIME },
    ...{ recent_runs: [], triggers: [], triggered_by: null, upstreams: [], batch_key: null, schedules: [], results: [] },
    schedule_error: 'schedule 0: invalid cron expression "nope"',
  };
  t.match(renderFlows([flow], pipe).join("\n"), 'served; schedule 0: invalid cron expression "nope"');
  t.match(renderFlow(flow, pipe).join("\n"), 'served; schedule 0: invalid cron expression "nope"');
  t.notMatch(renderFlow({ ...flow, schedule_error: null }, pipe).join("\n"), "served;");
});

t.test("the next fire of a flow is told in the zone of its schedule, which is named", async (t) => {
  const fire = (id: number, hour: number, timezone: string | null) => ({
    ...{ id, active: true, paused_reason: null, next_fire: Date.UTC(2026, 0, 5, hour, 30) * 1000 },
    schedule: { kind: "cron", cron: "30 8 * * *", timezone },
  });
  const flow = {
    ...{ id: 1, name: "daily", project: "p", module: "m.ts", source_dir: "/d", description: null, group: "p", tags: [] },
    ...{ parameter_schema: {}, options: {}, live: true, error: null, schedule_error: null, triggers: [], upstreams: [] },
    schedules: [fire(2, 23, "Asia/Tokyo"), fire(1, 22, "America/New_York")],
  } as unknown as FlowSummary;
  const shown = renderFlow(flow, pipe).join("\n");
  t.match(shown, "next 2026-01-06 08:30:00 Asia/Tokyo");
  t.match(shown, "next 2026-01-05 17:30:00 America/New_York");
  t.match(renderFlows([flow], pipe).join("\n"), "2026-01-05 17:30:00 America/New_York", "the first of all");
});
