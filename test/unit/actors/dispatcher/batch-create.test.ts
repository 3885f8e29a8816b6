/** Batches of runs: all or nothing, in order, prepared in slices and decided in one step. */
import t from "tap";
import { PARAMETERS_BYTES_MAX, RUN_BATCH_ERROR_LENGTH_MAX, RUN_BATCH_FLOWS_MAX, RUN_BATCH_RUNS_MAX } from "#protocol/limits";
import { sharedText, sliceBatch } from "#protocol/wire/batch-slices";
import { eventNames, operations } from "../../../support/decision-record.ts";
import { DispatchKit, type Outcome, type SentCommand, START_US } from "../../../support/dispatch-kit.ts";
import { create, createId, MODULE, move, poll, SOURCE_DIR, workOf } from "../../../support/dispatch-steps.ts";

const SCHEMA = { type: "object", properties: { n: { type: "integer" }, label: { type: "string", default: "none" } } };
const FLOW = { project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR, parameter_schema: SCHEMA };

interface Answered {
  created: number;
  runs: { id?: number; name?: string; state?: { name: string }; status?: number; error?: string }[];
}

function kitOf(settings: Record<string, unknown> = {}): DispatchKit {
  return new DispatchKit({ settings: { backfillSliceRuns: 4, ...settings } });
}

function batch(kit: DispatchKit, body: object, sent: Partial<SentCommand> = {}): Outcome {
  return kit.send("CreateRuns", { ...sent, body });
}

/** Sends a batch and lets all its steps happen. */
function whole(kit: DispatchKit, body: object, sent: Partial<SentCommand> = {}): Outcome {
  const begun = batch(kit, body, sent);
  if (begun.reply !== null) return begun;
  const ended = kit.pass(0);
  return { ...ended, command: begun.command, reply: ended.replies.find(({ command }) => command === begun.command) ?? null };
}

function answerOf({ reply }: Outcome): Answered {
  return reply?.body as unknown as Answered;
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ parameters: { n } }));

t.test("the runs have consecutive ids in the order of the request, and the answer names them", async (t) => {
  const kit = kitOf();
  createId(kit, { flow: "other" });
  const defaults = { ...FLOW, tags: ["nightly"], created_by: "cli", parameters: { label: "x" } };
  const runs = [{ parameters: { n: 3 } }, { name: "mine", tags: ["hot"] }, { parameters: { n: 1, label: "y" } }];
  const made = whole(kit, { defaults, runs });
  t.equal(made.reply?.status, 201);
  const { created, runs: answered } = answerOf(made);
  t.equal(created, 3);
  t.same(
    answered.map(({ id }) => id),
    [2, 3, 4],
  );
  const state = { name: "Scheduled", type: "Scheduled", timestamp: START_US, message: null };
  t.same(answered[1], { id: 3, external_id: kit.run(3).texts?.external_id, name: "mine", state });
  const stored = operations(made, "insert_run");
  t.match(stored[0], { id: 2, flow_id: 2, parameters: '{"label":"x","n":3}', tags: '["nightly"]', created_by: "cli" });
  t.match(stored[1], { id: 3, name: "mine", parameters: '{"label":"x"}', tags: '["nightly","hot"]' });
  t.match(stored[2], { id: 4, parameters: '{"label":"y","n":1}', external_id: kit.run(4).texts?.external_id });
  t.match(kit.run(2), { texts: { parameters: '{"label":"x","n":3}', tags: '["nightly"]' }, place: "ready" });
  t.match(answered[0]?.name, /^[a-z]+-[a-z]+$/);
  t.same(eventNames(made), ["flow.registered", "run.scheduled", "run.scheduled", "run.scheduled"]);
  t.match(operations(made, "count_runs"), [{ flow_id: 2, state_type: "Scheduled", delta: 3 }]);
  t.equal(made.stream.filter(({ kind }) => kind === "run.updated").length, 3);
});

t.test("a run may name a flow of its own, by name or id, and register it for the runs after it", async (t) => {
  const kit = kitOf();
  createId(kit, { flow: "known" });
  const first = whole(kit, {
    defaults: { project: "shop", tags: ["both"] },
    runs: [
      { flow_id: 1 },
      { flow: "new", module: MODULE, source_dir: SOURCE_DIR, options: { priority: 7 }, flow_tags: ["own"] },
      { flow: "known" },
      { flow: "new" },
      { project: "elsewhere", flow: "new", module: MODULE, source_dir: SOURCE_DIR },
    ],
  });
  t.equal(answerOf(first).created, 5, JSON.stringify(first.reply));
  const flows = [2, 3, 4, 5, 6].map((id) => `${kit.run(id).flow.project}/${kit.run(id).flow.name}`);
  t.same(flows, ["shop/known", "shop/new", "shop/known", "shop/new", "elsewhere/new"]);
  t.match(kit.run(3), { priority: 7, texts: { tags: '["own","both"]' }, created_by: "client" });
  t.match(kit.run(2), { created_by: "api" });
  t.equal(operations(first, "insert_flow").length, 2, "each is registered once");
  const byId = whole(kit, { defaults: { flow_id: 1 }, runs: [{}, { name: "n" }] });
  t.match([kit.run(7).flow.id, kit.run(8).flow.id], [1, 1], JSON.stringify(byId.reply));
});

t.test("nothing is decided before the last step, and other commands come in between", async (t) => {
  const kit = kitOf();
  const sent = batch(kit, { defaults: FLOW, runs: numbered(10) });
  t.same([sent.ops.length, sent.stream.length, sent.reply], [0, 0, null]);
  t.equal(createId(kit, { flow: "other" }), 1, "no number is taken yet");
  const before = kit.state.rules.nextIds.event;
  const made = kit.pass(0);
  t.equal(operations(made, "insert_new_runs").length, 1, "one decision");
  t.equal(kit.state.rules.nextIds.event - before, 11, "the numbers of the events are counted");
  t.match(made.replies, [{ command: sent.command, status: 201, body: { created: 10 } }]);
  t.same(
    operations(made, "insert_run").map(({ id }) => id),
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  );
});

t.test("one run that is refused refuses all, with its index, and leaves nothing behind", async (t) => {
  const refusals: [object, number, string][] = [
    [{ parameters: { n: "x" } }, 422, 'runs[9]: parameter "n": expected integer'],
    [{ parameters: { m: 1 } }, 422, 'runs[9]: parameter "m" is not declared; the flow takes n, label'],
    [{ parameters: 7 }, 422, "runs[9]: parameters: expected object"],
    [7 as unknown as object, 422, "runs[9]: expected object"],
    [{ name: 7 }, 422, "runs[9]: name: expected string"],
    [{ flow: "ghost" }, 404, 'runs[9]: flow "shop/ghost" is not registered; send module and source_dir to register it'],
    [{ flow_id: 99 }, 404, "runs[9]: flow 99 not found"],
    [{ flow: "job", flow_id: 1 }, 422, "runs[9]: flow_id: leave it out beside flow"],
    [{ options: {} }, 422, "runs[9]: options: is about a flow, which the run does not name"],
    [{ scheduled_time: 5 }, 422, "runs[9]: scheduled_time: not supported yet; leave it out"],
    [
      { parameters: { label: "x".repeat(PARAMETERS_BYTES_MAX) } },
      422,
      `runs[9]: parameters exceed ${PARAMETERS_BYTES_MAX} bytes`,
    ],
    [
      { flow: "job", module: "other.ts", source_dir: SOURCE_DIR },
      422,
      'runs[9]: flow "shop/job" is registered differently by an earlier run of the batch',
    ],
  ];
  for (const [bad, status, error] of refusals) {
    const kit = kitOf();
    const refused = whole(kit, { defaults: FLOW, runs: [...numbered(9), bad, ...numbered(3)] });
    t.same(refused.reply && [refused.reply.status, refused.reply.body], [status, { error, index: 9 }]);
    t.same([refused.ops, refused.stream, kit.state.runs.size, kit.state.flows.size], [[], [], 0, 0], error);
  }
});

t.test("a partial batch creates what can be created and answers the refusal of each other run", async (t) => {
  const kit = kitOf();
  const bad = { flow: "g".repeat(900) };
  const runs = [{ parameters: { n: 1 } }, { parameters: { n: "x" } }, bad, { parameters: { n: 2 } }, 5];
  const made = whole(kit, { partial: true, defaults: FLOW, runs });
  t.equal(made.reply?.status, 201);
  const { created, runs: answered } = answerOf(made);
  t.equal(created, 2);
  t.match(answered, [
    { id: 1, state: { name: "Scheduled" } },
    { status: 422, error: 'parameter "n": expected integer' },
    { status: 404, error: /^flow "shop\/ggg/ },
    { id: 2 },
    { status: 422, error: "expected object" },
  ]);
  t.equal(answered[2]?.error?.length, RUN_BATCH_ERROR_LENGTH_MAX);
  t.equal(kit.state.runs.size, 2);
  const none = whole(kitOf(), { partial: true, defaults: FLOW, runs: [5, 6] });
  t.match(none.reply, { status: 201, body: { created: 0 } });
  t.same(none.ops, [], "the flow is not registered without a run");
});

t.test("bodies that are no batch are refused as a whole", async (t) => {
  const kit = kitOf();
  const refused = (body: unknown) => kit.send("CreateRuns", { body }).reply;
  t.match(refused({ runs: [] }), { status: 422, body: { error: "runs: expected at least 1 items" } });
  t.match(refused({}), { status: 422, body: { error: /^runs: is required/ } });
  t.match(refused({ runs: "x" }), { status: 422, body: { error: "runs: expected array" } });
  t.match(refused([]), { status: 422, body: { error: "body: expected object" } });
  t.match(refused({ runs: [{}], partial: "yes" }), { status: 422, body: { error: "partial: expected boolean" } });
  t.match(refused({ runs: [{}], defaults: { tags: "x" } }), { status: 422, body: { error: "defaults.tags: expected array" } });
  t.match(refused({ runs: [{}] }), { status: 422, body: { error: "runs[0]: flow: is required, or flow_id", index: 0 } });
  t.match(refused({ runs: [{ flow: "f" }] }), { status: 422, body: { error: "runs[0]: project: is required" } });
  t.match(refused('{"runs":[{}'), { status: 400, body: { error: /^body is not valid JSON/ } });
  t.match(refused('{"runs":[{"a":tru}]}'), { status: 400, body: { error: /^runs\[0\]: body is not valid JSON/, index: 0 } });
  t.match(refused('{"partial":true,"runs":[{"a":tru}]}'), { status: 400 }, "which partial does not help");
  const many = refused({ defaults: FLOW, runs: Array(RUN_BATCH_RUNS_MAX + 1).fill({}) });
  t.match(many, { status: 422, body: { error: "runs: expected at most 10000 items, got 10001" } });
  const flows = Array.from({ length: RUN_BATCH_FLOWS_MAX + 1 }, (_, index) => ({ ...FLOW, flow: `f${index}` }));
  t.match(whole(kit, { runs: flows }).reply, { status: 422, body: { error: /a batch registers at most \d+ flows/ } });
  t.same([kit.state.runs.size, kit.state.flows.size], [0, 0]);
});

t.test("what the runs have in common counts for each of them", async (t) => {
  const kit = kitOf();
  const label = "x".repeat(PARAMETERS_BYTES_MAX - 100);
  const large = whole(kit, { partial: true, defaults: { ...FLOW, parameters: { label } }, runs: Array(20).fill({}) });
  t.match(large.reply, {
    status: 422,
    body: { error: /^parameters, tags and names of all runs together, .* 16777216 characters/ },
  });
  const flow_tags = Array.from({ length: 600 }, (_, index) => `t${index}`);
  const tags = flow_tags.map((tag) => `own ${tag}`);
  const tagged = whole(kit, { defaults: { ...FLOW, flow_tags, tags }, runs: Array(90).fill({}) });
  t.match(tagged.reply, { status: 422, body: { error: /^the runs have more than 100000 tags together/ } });
  t.same([kit.state.runs.size, kit.state.flows.size], [0, 0]);
});

t.test("a step that takes long reads no further runs", async (t) => {
  const kit = kitOf({ backfillSliceRuns: 1_000 });
  let us = 0;
  kit.state.uptimeUs = () => {
    us += 15_000;
    return us;
  };
  const sent = batch(kit, { defaults: FLOW, runs: numbered(10) });
  t.equal(sent.reply, null, "of ten runs");
  t.match(kit.pass(0).replies, [{ command: sent.command, status: 201 }]);
});

t.test("a batch in slices of a reader thread is decided like one that the core reads", async (t) => {
  const kit = kitOf();
  const sliced = sliceBatch(sharedText(JSON.stringify({ defaults: FLOW, runs: numbered(6) })));
  if (!sliced.ok) throw new Error(sliced.detail);
  // The kit sends bodies that are no text as JSON, so the batch goes to the dispatcher as the gateway sends it.
  const begun = kit.tell({
    ...{ kind: "CreateRuns", id: 900, epoch: kit.epoch, target: 0, idempotency: null, local: true },
    body: sliced.batch,
  } as never);
  const made = begun.replies.length > 0 ? begun : kit.pass(0);
  t.match(made.replies, [{ command: 900, status: 201, body: { created: 6 } }]);
});

t.test("integers beyond 2^53 and numbers like 2.0 are stored as they were sent", async (t) => {
  const kit = kitOf();
  const schema = { type: "object", properties: { big: { type: "integer" }, x: { type: "number" } } };
  const text = `{"defaults":${JSON.stringify({ ...FLOW, parameter_schema: schema })},"runs":[{"parameters":{"big":9007199254740993,"x":2.0}}]}`;
  t.equal(whole(kit, text as unknown as object).reply?.status, 201);
  t.equal(kit.run(1).texts?.parameters, '{"big":9007199254740993,"x":2.0}');
});

t.test("the same batch twice under one key is created once and gets the same answer", async (t) => {
  const kit = kitOf();
  const idempotency = { key: "k", fingerprint: "f" };
  const body = { defaults: FLOW, runs: numbered(10) };
  const [first, second] = [batch(kit, body, { idempotency }), batch(kit, body, { idempotency })];
  const made = kit.pass(0);
  t.equal(kit.state.runs.size, 10);
  const [one, two] = [first, second].map(({ command }) => made.replies.find((reply) => reply.command === command));
  t.equal(one?.status, 201);
  t.same({ ...two, command: 0 }, { ...one, command: 0 });
  t.same(batch(kit, body, { idempotency }).reply?.body, one?.body, "also later");
  const other = batch(kit, body, { idempotency: { key: "k", fingerprint: "g" } });
  t.match(other.reply, { status: 409 });
  t.equal(operations(made, "put_idempotency").length, 1);
});

t.test("a batch needs room for all of its runs, also at the end of its preparation", async (t) => {
  const kit = kitOf({ unfinishedRunsMax: 10 });
  const idempotency = { key: "k", fingerprint: "f" };
  const full = batch(kit, { defaults: FLOW, runs: numbered(11) }, { idempotency });
  t.match(full.reply, { status: 503, body: { error: /^no room for 11 more runs: 10 may be unfinished/ } });
  const taken = batch(kit, { defaults: FLOW, runs: numbered(10) }, { idempotency });
  t.equal(taken.reply, null);
  const single = createId(kit, { flow: "other" });
  t.match(kit.pass(0).replies, [{ command: taken.command, status: 503 }]);
  t.equal(kit.state.flowByName("shop", "job"), undefined);
  move(kit, single, "Cancelled");
  t.equal(whole(kit, { defaults: FLOW, runs: numbered(10) }, { idempotency }).reply?.status, 201, "the refusal is not kept");
  const partial = whole(kit, { partial: true, defaults: FLOW, runs: numbered(1) });
  t.match(partial.reply, { status: 503 }, "the lack of room is no matter of single runs");
});

t.test("flows that change during the preparation are looked at again", async (t) => {
  const kit = kitOf();
  create(kit, { ...FLOW, parameters: { n: 0 } });
  const body = { defaults: { project: "shop", flow: "job" }, runs: numbered(10) };
  const same = batch(kit, body);
  create(kit, { ...FLOW, parameter_schema: structuredClone(SCHEMA), parameters: { n: 0 } });
  t.match(kit.pass(0).replies, [{ command: same.command, status: 201 }], "the same registration again changes nothing");

  const changed = batch(kit, body);
  create(kit, { ...FLOW, parameter_schema: { type: "object", properties: { other: {} } }, parameters: {} });
  t.match(kit.pass(0).replies, [{ command: changed.command, status: 422, body: { index: 0, error: /"n" is not declared/ } }]);

  const gone = batch(kit, { ...body, runs: Array(10).fill({}) });
  // The flow goes in one step.
  kit.state.settings.backfillSliceRuns = 100;
  t.equal(kit.send("DeleteFlow", { target: 1 }).reply?.status, 204);
  t.match(kit.pass(0).replies, [{ command: gone.command, status: 404 }]);
  t.equal(kit.state.runs.size, 0);
});

t.test("a server that stops in between creates nothing", async (t) => {
  const kit = kitOf();
  const sent = batch(kit, { defaults: FLOW, runs: numbered(10) });
  kit.tell({ kind: "StopWork" });
  t.match(kit.pass(0).replies, [{ command: sent.command, status: 409 }]);
  t.match(batch(kit, { defaults: FLOW, runs: numbered(1) }).reply, { status: 409 });
  t.equal(kit.state.runs.size, 0);
});

t.test("max_concurrent, overlap policy, priority and downstream flows are those of single runs", async (t) => {
  const kit = kitOf();
  create(kit, { flow: "after", options: { after: { flow: "skipping" } } });
  create(kit, { flow: "skipping", options: { max_concurrent: 1, on_overlap: "skip" } });
  t.ok(workOf(poll(kit, "e1", { wait_ms: 0 })));
  t.ok(workOf(poll(kit, "e2", { wait_ms: 0 })));
  const skipped = whole(kit, { defaults: { project: "shop", flow: "skipping" }, runs: [{}, {}] });
  t.match(answerOf(skipped).runs, [
    { id: 3, state: { name: "Skipped", type: "Completed" } },
    { id: 4, state: { name: "Skipped" } },
  ]);
  t.match([kit.run(5), kit.run(6)], [{ flow: { name: "after" } }, { flow: { name: "after" } }]);

  const other = kitOf();
  create(other, { flow: "low" });
  create(other, { flow: "high", options: { priority: 5, max_concurrent: 1 } });
  const runs = [{ flow: "low" }, { flow: "high" }, { flow: "high" }];
  t.equal(answerOf(whole(other, { defaults: { project: "shop" }, runs })).created, 3);
  const handed = ["e1", "e2", "e3", "e4"].map((engine) => workOf(poll(other, engine, { wait_ms: 0 }))?.["run_id"]);
  t.same(handed, [2, 1, 3, undefined], "the one of high, then the two of low in their order");
});

t.test("waiting engines get runs in the step that creates them", async (t) => {
  const kit = kitOf();
  createId(kit, { flow: "job" });
  move(kit, 1, "Cancelled");
  const [one, two] = [poll(kit, "e1"), poll(kit, "e2")];
  const made = whole(kit, { defaults: { project: "shop", flow: "job" }, runs: [{}, {}, {}] });
  t.same(
    [one, two].map((each) => workOf(made, each.command)?.["run_id"]),
    [2, 3],
  );
  t.match(answerOf(made).runs, [{ state: { name: "Scheduled" } }, {}, {}]);
});

t.test("its runs and their events belong to the chain of rules that led to it", async (t) => {
  const kit = kitOf();
  const made = whole(kit, { defaults: FLOW, runs: numbered(6) }, { ruleDepth: 3 });
  t.equal(operations(made, "put_chain").filter(({ depth }) => depth === 3).length, 6);
  t.equal(operations(made, "put_event_chain").filter(({ depth }) => depth === 3).length, 7, "and the registration of the flow");
});

t.test("fields that a batch does not take are named in the server's log once", async (t) => {
  const kit = kitOf();
  const made = whole(kit, { defaults: { ...FLOW, colour: 1 }, runs: [{ parametres: {} }, { parametres: {} }] });
  t.equal(made.reply?.status, 201);
  t.match(made.serverLog, [/^POST \/api\/runs\/batch: .*"defaults\.colour"/, /^POST \/api\/runs\/batch: .*"parametres"/]);
});
