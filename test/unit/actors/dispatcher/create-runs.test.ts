import t from "tap";
import { PARAMETERS_BYTES_MAX } from "#protocol/limits";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, START_US } from "../../../support/dispatch-kit.ts";
import { create, createId, MODULE, poll, SOURCE_DIR, startRun, workOf } from "../../../support/dispatch-steps.ts";

const SCHEMA = {
  type: "object",
  properties: { count: { type: "integer", default: 3 }, label: { type: "string" } },
  required: ["label"],
};

t.test("a new run is Scheduled, stored and announced in one decision", async (t) => {
  const kit = new DispatchKit();
  const outcome = create(kit, { flow_tags: ["nightly", "eu"], tags: ["eu", "hot"], options: { priority: 7 }, name: "mine" });
  t.match(outcome.reply, {
    status: 201,
    body: {
      id: 1,
      name: "mine",
      state: { type: "Scheduled", name: "Scheduled", timestamp: START_US, message: null, details: {} },
      tags: ["nightly", "eu", "hot"],
      attempt: 0,
      priority: 7,
      created_by: "client",
      created_at: START_US,
      engine_id: null,
      start_time: null,
      parameters: {},
      task_counts: {},
    },
  });
  t.equal(operations(outcome, "insert_flow").length, 1);
  t.match(operations(outcome, "insert_run"), [
    { id: 1, flow_id: 1, state_type: "Scheduled", assignment_id: null, parameters: "{}" },
  ]);
  t.match(operations(outcome, "count_runs"), [{ flow_id: 1, state_type: "Scheduled", delta: 1 }]);
  t.same(eventNames(outcome), ["flow.registered", "run.scheduled"]);
  const announced = ["event.created", "event.created", "flow.registered", "run.updated"];
  t.same(outcome.stream.map(({ kind }) => kind).sort(), announced);
});

t.test("a creation that is refused registers no flow, and changes none", async (t) => {
  const kit = new DispatchKit();
  const refused = create(kit, { parameter_schema: SCHEMA, parameters: { count: "x" } });
  t.equal(refused.reply?.status, 422);
  t.same(operations(refused, "insert_flow"), []);
  t.same(eventNames(refused), []);
  t.equal(create(kit, { parameter_schema: SCHEMA, parameters: { label: "a" } }).reply?.status, 201);
  const again = create(kit, { parameter_schema: { ...SCHEMA, required: ["count"] }, parameters: { count: "x" } });
  t.equal(again.reply?.status, 422);
  t.same(again.ops, []);
});

t.test("a name that is missing, null or empty is generated and never repeats", async (t) => {
  const kit = new DispatchKit();
  const names = new Set<string>();
  for (let index = 0; index < 300; index += 1) {
    const name = index % 3 === 0 ? {} : { name: index % 3 === 1 ? null : "" };
    const given = String(create(kit, name).reply?.body["name"]);
    t.match(given, /^[a-z]+-[a-z]+$/);
    names.add(given);
  }
  t.equal(names.size, 300);
});

t.test("a given name is kept as it is, also when another run has it", async (t) => {
  const kit = new DispatchKit();
  t.equal(create(kit, { name: "twice" }).reply?.body["name"], "twice");
  t.equal(create(kit, { name: "twice" }).reply?.body["name"], "twice");
});

t.test("parameters are checked, completed with defaults, and stored as they were sent", async (t) => {
  const kit = new DispatchKit();
  const made = create(kit, { parameter_schema: SCHEMA, parameters: { label: "x", count: "9" } });
  t.same(made.reply?.body["parameters"], { count: "9", label: "x" });
  const defaulted = create(kit, { parameters: { label: "x" } });
  t.same(defaulted.reply?.body["parameters"], { count: 3, label: "x" });
  const missing = create(kit, {});
  t.equal(missing.reply?.status, 422);
  t.match(missing.reply?.body["error"], /label/);
  const unknown = create(kit, { parameters: { label: "x", other: 1 } });
  t.equal(unknown.reply?.status, 422);
  t.match(unknown.reply?.body["error"], /other/);
  t.equal(kit.state.runs.size, 2, "a refused create makes no run");
  t.match(create(kit, { flow: "plain", parameters: { a: 1 } }).reply, { status: 422 }, "a flow without a schema takes none");
});

t.test("parameters above the limit are refused, just below it they pass", async (t) => {
  const kit = new DispatchKit();
  const schema = { type: "object", properties: { text: { type: "string" } } };
  const overhead = '{"text":""}'.length;
  const wish = (bytes: number) => ({ parameter_schema: schema, parameters: { text: "a".repeat(bytes - overhead) } });
  t.equal(create(kit, wish(PARAMETERS_BYTES_MAX)).reply?.status, 201);
  t.equal(create(kit, wish(PARAMETERS_BYTES_MAX + 1)).reply?.status, 422);
});

t.test("large parameters are read from the store once they are committed", async (t) => {
  const kit = new DispatchKit();
  kit.committed = 0;
  const schema = { type: "object", properties: { text: { type: "string" } } };
  const id = createId(kit, { parameter_schema: schema, parameters: { text: "a".repeat(5000) } });
  kit.pass(1_000_000);
  t.not(kit.run(id).texts, null, "kept until the commit");
  kit.committed = kit.turn;
  kit.pass(1_000_000);
  t.equal(kit.run(id).texts, null);
  t.same(workOf(poll(kit, "e1"))?.["parameters"], { stored: id });
});

t.test("refusals: unreadable, wrong shape, unknown flow, stopping", async (t) => {
  const kit = new DispatchKit();
  t.equal(kit.send("CreateRun", { body: "{" }).reply?.status, 400);
  t.equal(kit.send("CreateRun", { body: { project: 1 } }).reply?.status, 422);
  t.equal(kit.send("CreateRun", { body: { project: "shop", flow: "none" } }).reply?.status, 404);
  const half = kit.send("CreateRun", { body: { project: "shop", flow: "none", module: MODULE } });
  t.equal(half.reply?.status, 404, "a registration needs both module and source_dir");
  t.equal(kit.send("CreateFlowRun", { target: 9, body: {} }).reply?.status, 404);
  t.equal(kit.state.flows.size, 0);
  kit.tell({ kind: "StopWork" });
  t.equal(create(kit).reply?.status, 409);
});

t.test("POST /api/flows/{id}/runs: created by the api, from the flow as it is", async (t) => {
  const kit = new DispatchKit();
  createId(kit, { flow_tags: ["a"] });
  const made = kit.send("CreateFlowRun", { target: 1, body: {} });
  t.match(made.reply, { status: 201, body: { created_by: "api", tags: ["a"], flow_id: 1, flow_name: "job", project: "shop" } });
});

t.test("a registration refreshes what it names and leaves the rest", async (t) => {
  const kit = new DispatchKit();
  createId(kit, { description: "first", flow_tags: ["a"], options: { priority: 1 }, flow_group: "g" });
  const flow = kit.state.flows.get(1);
  kit.pass(1_000_000);
  const outcome = create(kit, { module: "moved.py", flow_tags: [], options: {} });
  t.match(flow, { module: "moved.py", description: "first", tags: ["a"], flow_group: "g", error: null, last_seen_at: kit.nowUs });
  t.equal(flow?.options.priority, 1);
  t.equal(operations(outcome, "update_flow").length, 1);
  kit.send("CreateRun", { body: { project: "shop", flow: "job" } });
  t.equal(flow?.module, "moved.py", "without module and source_dir nothing is registered");
});

t.test("a live flow ignores the registration part", async (t) => {
  const kit = new DispatchKit();
  createId(kit, { options: { priority: 1 } });
  const flow = kit.state.flows.get(1);
  if (flow !== undefined) flow.live = true;
  create(kit, { module: "other.py", options: { priority: 5 } });
  t.match(flow, { module: MODULE, source_dir: SOURCE_DIR, options: { priority: 1 } });
});

t.test("options travel unchanged, unknown keys included", async (t) => {
  const kit = new DispatchKit();
  const options = { anything: { deep: [1, "two"] }, retries: 2 };
  createId(kit, { options });
  t.same(workOf(poll(kit, "e1"))?.["options"], options);
});

t.test("waiting runs follow their flow to another module", async (t) => {
  const kit = new DispatchKit();
  const first = createId(kit);
  createId(kit, { module: "moved.py" });
  t.equal(workOf(poll(kit, "old")), null, "a poll for the former module gets no run");
  t.equal(workOf(poll(kit, "new", { module: "moved.py" }))?.["run_id"], first);
});

t.test("overlap: skip and cancel_new end a new run while the limit is handed out, waiting ones do not count", async (t) => {
  for (const [policy, end, event] of [
    ["skip", { type: "Completed", name: "Skipped" }, "run.skipped"],
    ["cancel_new", { type: "Cancelled", name: "Cancelled" }, "run.cancelled"],
  ] as const) {
    const kit = new DispatchKit();
    const options = { max_concurrent: 1, on_overlap: policy };
    createId(kit, { options });
    t.match(create(kit).reply?.body, { state: { type: "Scheduled" } }, "two queued runs do not overlap");
    poll(kit, "e1");
    const late = create(kit);
    t.match(late.reply?.body, { state: { ...end, message: "previous run still active" } }, "the answer holds the outcome");
    t.same(eventNames(late), ["run.scheduled", event]);
    if (policy === "skip") {
      const skipped = operations(late, "insert_event")[1];
      t.equal(skipped?.["payload"], JSON.stringify({ reason: "previous run still active" }), "one event carries the reason");
    }
    t.match(operations(late, "insert_run"), [{ state_type: end.type, state_name: end.name }]);
  }
});

t.test("overlap: enqueue and unknown words wait", async (t) => {
  for (const on_overlap of ["enqueue", "whatever", undefined]) {
    const kit = new DispatchKit();
    const options = on_overlap === undefined ? { max_concurrent: 1 } : { max_concurrent: 1, on_overlap };
    startRun(kit, "e1", { options });
    t.match(create(kit).reply?.body, { state: { type: "Scheduled" } });
    t.equal(workOf(poll(kit, "e2")), null);
  }
});
