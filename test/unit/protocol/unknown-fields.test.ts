import t from "tap";
import { CallbackBody } from "#protocol/records/durable";
import { RuleBody } from "#protocol/records/rule";
import { CreateRunBody } from "#protocol/records/run";
import { ScheduleBody } from "#protocol/records/schedule";
import { openapiDocument } from "#protocol/routes/openapi";
import { ROUTES } from "#protocol/routes/routes";
import { UnknownFields } from "#protocol/routes/unknown-fields";
import { COMMANDS } from "#protocol/wire/command";
import { DispatchKit } from "../../support/dispatch-kit.ts";
import { create, createId } from "../../support/dispatch-steps.ts";

const RUN_FIELDS = { priority: 5, scheduled_time: 1, delay: "1h", start_deadline: 60, unique_key: "k" };

t.test("a body that creates runs is refused with a field of a later version, and nothing is registered", async (t) => {
  const kit = new DispatchKit();
  const id = createId(kit, { flow: "known", parameter_schema: { properties: { day: { type: "string", format: "date" } } } });
  const flow = kit.run(id).flow.id;
  const backfill = { parameter: "day", start: "2026-01-01", end: "2026-01-02" };
  for (const [field, value] of Object.entries(RUN_FIELDS)) {
    const refused = { status: 422, body: { error: `${field}: not supported yet; leave it out` } };
    t.match(create(kit, { flow: "new", [field]: value }).reply, refused);
    t.match(kit.send("CreateFlowRun", { target: flow, body: { [field]: value } }).reply, refused);
    t.match(kit.send("CreateBackfill", { target: flow, body: { ...backfill, [field]: value } }).reply, refused);
    const batch = { project: "shop", flow: "new", module: "m.ts", source_dir: "/d" };
    for (const body of [{ runs: [{ ...batch, [field]: value }] }, { defaults: { ...batch, [field]: value }, runs: [{}] }])
      t.match(kit.send("CreateRuns", { body }).reply, { status: 422, body: { error: /: not supported yet; leave it out$/ } });
    t.match(create(kit, { flow: "known", [field]: null }).reply, { status: 201 }, "null is none");
  }
  t.equal(kit.state.flowByName("shop", "new"), undefined);
});

t.test("the description of the interface publishes exactly this list", async (t) => {
  const { schemas } = openapiDocument()["components"] as { schemas: Record<string, object> };
  const listed = (schema: string) =>
    [
      ...JSON.stringify(schemas[schema]).matchAll(
        /"(\w+)":\{"type":"null","description":"Not supported yet[^}]*"x-not-supported-yet":true/g,
      ),
    ].map(([, name]) => name);
  const creating = ["CreateRunBody", "CreateRunForFlowBody", "BackfillBody", "RunOfBatch", "RunDefaults"];
  for (const body of creating) t.same(listed(body), Object.keys(RUN_FIELDS), body);
  const all = Object.keys(schemas).filter((schema) => listed(schema).length > 0);
  t.same(all, [...creating].sort());
});

t.test("other unknown fields are ignored and named once for each route, up to a bound", async (t) => {
  const fields = new UnknownFields();
  const body = { flow: "f", project: "p", praority: 1, options: { own: 1 }, parameters: { own: 1 } };
  const line = fields.line("POST /api/runs", CreateRunBody, body);
  t.match(line, /^POST \/api\/runs: .*ignored.*: "praority"$/, "options and parameters are kept as they are sent");
  t.equal(fields.line("POST /api/runs", CreateRunBody, body), null);
  t.match(fields.line("POST /api/other", CreateRunBody, body), '"praority"');
  const rule = { name: "r", when: { event: ["a"] }, do: [{ kind: "webhook", headers: { any: "x" }, uri: "x" }] };
  t.match(fields.line("POST /api/rules", RuleBody, rule), '"when.event", "do[].uri"');
  t.match(fields.line("s", ScheduleBody, { kind: "cron", cron: "* * * * *", interval: 5, tz: "UTC" }), /: "tz"$/);
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`field ${at} ${"x".repeat(1_000)}`, 1]));
  t.ok((fields.line("m", CreateRunBody, many)?.length ?? 0) < 10_000);
  t.equal(fields.line("m", CreateRunBody, { flow: "f", project: "p", another: 1 }), null, "the list is full");
});

t.test("every route of clients whose body the core parses has its name, unless the body may be any JSON", async (t) => {
  const wanted = ROUTES.filter(({ command, body, path }) => {
    const parsed = command === undefined ? "" : COMMANDS[command].parsed;
    return (
      body !== undefined &&
      body !== CallbackBody &&
      parsed === "core" &&
      !path.startsWith("/api/engine/") &&
      command !== "TransitionRun"
    );
  });
  const named = Object.entries(COMMANDS).flatMap(([kind, { loggedAs }]) => (loggedAs === null ? [] : [[kind, loggedAs]]));
  t.same(
    Object.fromEntries(named),
    Object.fromEntries(wanted.map(({ command, method, path }) => [command, `${method} ${path}`])),
  );
});
