/** Numbers such as 2.0 in the bodies of new runs: not integers, and stored as written. */
import t from "tap";
import { operations } from "../../support/decision-record.ts";
import { DispatchKit, type Outcome } from "../../support/dispatch-kit.ts";
import { MODULE, SOURCE_DIR } from "../../support/dispatch-steps.ts";

const DAY = { type: "string", format: "date" };
const PROPERTIES = { whole: { type: "integer" }, amount: { type: "number", default: 1 }, day: DAY };

function register(kit: DispatchKit, flow: string, options: object, parameters = "{}"): Outcome {
  const schema = JSON.stringify({ type: "object", properties: PROPERTIES });
  const where = `"project":"shop","module":"${MODULE}","source_dir":"${SOURCE_DIR}"`;
  const body = `{"flow":"${flow}",${where},"parameter_schema":${schema},"options":${JSON.stringify(options)},"parameters":${parameters}}`;
  return kit.send("CreateRun", { body });
}

function stored(outcome: Outcome): unknown[] {
  return operations(outcome, "insert_run").map((run) => run["parameters"]);
}

t.test("a number written as a fraction or with an exponent is no integer", async (t) => {
  const kit = new DispatchKit();
  register(kit, "job", {});
  for (const text of ["1.0", "-2.00", "1e3", "15E-1", "1.5"]) {
    const { reply } = kit.send("CreateFlowRun", { target: 1, body: `{"parameters":{"whole":${text}}}` });
    t.match(reply, { status: 422, body: { error: /parameter "whole": expected integer/ } }, text);
  }
  t.equal(kit.send("CreateFlowRun", { target: 1, body: '{"parameters":{"whole":1}}' }).reply?.status, 201);
});

t.test("a fraction is stored as it was written, and passed on to the flows that follow", async (t) => {
  const kit = new DispatchKit();
  register(kit, "next", { after: { flow: "job" } });
  const made = register(kit, "job", {}, '{"amount":2.0,"whole":7}');
  t.same(stored(made), ['{"amount":2.0,"whole":7}']);
  const followed = kit.send("TransitionRun", { target: 2, body: { type: "Completed" } });
  t.same(stored(followed), ['{"amount":2.0,"whole":7}']);
});

t.test("a fraction is passed on under another name, also when it is a literal of the flow that follows", async (t) => {
  const kit = new DispatchKit();
  const after = `{"flow":"job","parameters":{"price":"{{ run.parameters.amount }}","rate":4.0,"whole":"{{ run.id }}"}}`;
  const body = `{"flow":"next","project":"shop","module":"${MODULE}","source_dir":"${SOURCE_DIR}","options":{"after":${after}}}`;
  kit.send("CreateRun", { body });
  register(kit, "job", {}, '{"amount":2.0}');
  const followed = kit.send("TransitionRun", { target: 2, body: { type: "Completed" } });
  t.same(stored(followed), ['{"price":2.0,"rate":4.0,"whole":2}']);
});

t.test("the value of a variable is stored as it was written, also a fraction alone", async (t) => {
  const kit = new DispatchKit();
  kit.send("CreateVariable", { body: '{"name":"rate","value":2.0}' });
  const variable = kit.send("CreateVariable", { body: '{"name":"rate","value":3.0}' });
  t.match(operations(variable, "put_variable"), [{ value: "3.0" }]);
  const patched = kit.send("PatchVariable", { targetName: "rate", body: '{"value":1e3}' });
  t.match(operations(patched, "put_variable"), [{ value: "1e3" }]);
});

t.test("extra parameters of a backfill are no exception", async (t) => {
  const kit = new DispatchKit();
  register(kit, "job", {});
  const fill = (extra: string) =>
    kit.send("CreateBackfill", {
      target: 1,
      body: `{"parameter":"day","start":"2026-01-01","end":"2026-01-02","extra_parameters":${extra}}`,
    });
  t.match(fill('{"whole":3.0}').reply, { status: 422, body: { error: /parameter "whole"/ } });
  const made = fill('{"amount":3.0}');
  t.match(made.reply, { status: 201 });
  t.same(stored(made), ['{"amount":3.0,"day":"2026-01-01"}', '{"amount":3.0,"day":"2026-01-02"}']);
});
