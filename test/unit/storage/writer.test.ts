import t from "tap";
import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { STREAM_CODE } from "#protocol/wire/feed";
import { loadStore } from "#storage/load/load";
import { loadRun, unfinishedRuns } from "#storage/load/load-runs";
import type { CommitRequest } from "#storage/port";
import { eventById, eventContext } from "#storage/queries/event-record";
import { runById } from "#storage/queries/run-record";
import { IN_MEMORY } from "#storage/read/read-handle";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { StorageError } from "#storage/sqlite/storage-error";
import { type Batch, emptyDecision } from "#storage/write/batch";
import { putOperation, type RunStateRow } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { eventRow, flowRow, runRow, stateRow, taskRow } from "../../support/storage-rows.ts";

const RUN_UUID = "01900000-0000-7000-8000-000000000001";
const FLOW_UUID = "01900000-0000-7000-8000-0000000000f1";
const TASK_UUID = "01900000-0000-7000-8000-0000000000a1";

/** The rows of unfinished runs. */
function unfinished(database: Database): unknown[] {
  return [...unfinishedRuns(new Statements(database))].map(({ run }) => run);
}

function open(): { database: Database; writer: Writer; statements: Statements } {
  const database = openWriteHandle(IN_MEMORY, { durability: "normal", salt: 7 });
  return {
    database,
    writer: new Writer(database, { stream: "new_block", nowUs: () => 0 }),
    statements: new Statements(database),
  };
}

function request(writer: Writer, number: number, parts: Partial<Batch>): CommitRequest {
  const place = { number, generation: 1, refusals: 0, epoch: null };
  const batch: Batch = { kind: "Batch", ...place, ...emptyDecision(), ...parts };
  return { batch, logs: buildLogBlocks(batch.logs, writer.nextLogId) };
}

type State = [type: StateType, name: string, at: number, message: string | null, end: number | null];

function runState([type, name, at, message, end]: State): RunStateRow {
  const times = { start_time: end === null ? null : at, end_time: end, total_run_time: end === null ? null : 5 };
  return stateRow(type, { state_name: name, state_timestamp: at, state_message: message, ...times });
}

function putUpdate(ops: Primitive[], state: State): void {
  putOperation(ops, "update_run", { id: 1, ...runState(state) });
}

function putFlow(ops: Primitive[], id = 1): void {
  putOperation(ops, "insert_flow", flowRow(id, { external_id: FLOW_UUID }));
}

function putRun(ops: Primitive[], id: number, state: State, flow = 1): void {
  const row = runRow(id, runState(state), {
    external_id: RUN_UUID.slice(0, -4) + id.toString(16).padStart(4, "0"),
    flow_id: flow,
    parameters: '{"x":9007199254740993}',
    tags: '["a","b"]',
    created_at: 1_000,
  });
  putOperation(ops, "insert_run", row);
}

function putEvent(ops: Primitive[], name: string, run: number, type: StateType): void {
  putOperation(ops, "insert_event", eventRow(name, 2_000_000, { run_id: run, flow_id: 1, state_type: type, state_name: type }));
}

const SCHEDULED: State = ["Scheduled", "Scheduled", 1_000, null, null];
const COMPLETED: State = ["Completed", "Completed", 3_000, null, 3_000];

t.test("a run goes through a commit and comes back as a wire record", async (t) => {
  const { writer, statements } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  putUpdate(ops, ["Scheduled", "Late", 2_000, "late", null]);
  putEvent(ops, "run.scheduled", 1, "Scheduled");
  const stream = [STREAM_CODE["run.updated"], 1, STREAM_CODE["event.created"], 0];
  const logs = [1, 0, 2, 6, '[[null,20,"l",5,"hello"],[null,10,"l",6,"there"]]'];
  const result = writer.commit(request(writer, 1, { ops, stream, logs }));
  t.same(result, { number: 1, first_event_id: 1, logs: [1, 2, 2], first_seq: 2 ** 32 + 1 });
  const text = runById(statements, 1) ?? "";
  t.match(text, '"x":9007199254740993', "large integers pass unchanged");
  const run = JSON.parse(text);
  t.same(run.state, { name: "Late", type: "Scheduled", timestamp: 2_000, message: "late", details: {} });
  t.equal(run.group, "p");
  t.same(run.tags, ["a", "b"]);
  t.same(run.task_counts, {});
  const event = JSON.parse(eventById(statements, 1, eventContext(statements)) ?? "");
  t.equal(event.seq, 1);
  t.same(event.related, [
    { id: "p/f1", kind: "flow", name: "f1" },
    { id: "a", kind: "tag", name: "a" },
    { id: "b", kind: "tag", name: "b" },
  ]);
  t.same(Object.keys(event.payload), ["created_by", "flow", "message", "parameters", "project", "state", "state_type"]);
});

t.test("a batch that comes again changes nothing and gets the same numbers", async (t) => {
  const { database, writer, statements } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  putEvent(ops, "run.scheduled", 1, "Scheduled");
  const logs = [1, 0, 1, 4, '[[null,20,"l",5,"hello"]]'];
  const first = request(writer, 1, { ops, logs, stream: [3, 0] });
  const second = request(writer, 2, { stream: [0, 1] });
  const results = [first, second].map((one) => writer.commit(one));
  const dump = () => ["events", "runs", "log_blocks", "counters"].map((name) => statements.raw(`SELECT * FROM ${name}`).all());
  const before = dump();
  t.same(writer.commit(second), results[1]);
  const again = new Writer(database, { stream: "continue", nowUs: () => 0 });
  t.same(again.commit(second), results[1], "also by a writer that started again");
  t.throws(() => again.commit(first), { fault: "operation", message: /commit 1 does not follow commit 2/ });
  t.throws(() => again.commit(request(again, 4, { ops })), { fault: "operation", message: /commit 4 does not follow commit 2/ });
  const stored = statements.raw("SELECT epoch, number, result FROM members").all();
  t.same(stored, [[2, 2, `[2,${2 ** 32 + 2}]`]]);
  t.same(dump(), before);
});

t.test("a writer that starts again knows which commands the newest commit decided; a new process forgets them", async (t) => {
  const { database, writer } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  writer.commit(request(writer, 1, { ops, replies: [11, 201, "{}", 12, 404, "{}"] }));
  const events: Primitive[] = [];
  putEvent(events, "kit.done", 1, "Running");
  const stream = [STREAM_CODE["run.updated"], 1, STREAM_CODE["event.created"], 13];
  writer.commit(request(writer, 2, { ops: events, stream, replies: [14, 200, null] }));
  const again = new Writer(database, { stream: "continue", nowUs: () => 0 });
  t.same(again.decidedCommands, [13, 14]);
  t.same(new Writer(database, { stream: "new_block", nowUs: () => 0 }).decidedCommands, []);
});

t.test("a failed commit leaves nothing, in the store and in memory", async (t) => {
  const { database, writer, statements } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  writer.commit(request(writer, 1, { ops }));
  const good: Primitive[] = [];
  putEvent(good, "a.new.name", 1, "Scheduled");
  putOperation(good, "count_runs", { flow_id: 1, state_type: "Scheduled", delta: 5 });
  const bad: Primitive[] = [];
  putRun(bad, 2, SCHEDULED);
  putUpdate(bad, COMPLETED);
  putFlow(bad, 1);
  try {
    writer.commit(request(writer, 2, { ops: [...good, ...bad] }));
    t.fail("must throw");
  } catch (error) {
    t.type(error, StorageError);
    t.match(error, { fault: "operation", disk_full: false });
  }
  t.equal(database.inTransaction, false);
  t.same(statements.raw("SELECT * FROM events").all(), []);
  t.same(writer.commit(request(writer, 2, { ops: good })).first_event_id, 1);
  t.same(loadStore(database).counts, [{ flow_id: 1, kind: "runs", state_type: "Scheduled", count: 5 }]);
  t.same(statements.raw("SELECT id, end_time FROM runs").all(), [[1, null]], "nor rows that waited to be written");
  t.same(statements.raw("SELECT n.name FROM events e JOIN names n ON n.id = e.name").all(), [["a.new.name"]]);
});

t.test("moves of one run in one commit become one row; a revived run is unfinished again", async (t) => {
  const { database, writer } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  writer.commit(request(writer, 1, { ops }));
  const moves: Primitive[] = [];
  putUpdate(moves, ["Running", "Running", 2_000, null, null]);
  putUpdate(moves, COMPLETED);
  writer.commit(request(writer, 2, { ops: moves }));
  t.same(unfinished(database), []);
  t.equal(loadRun(new Statements(database), 1)?.run.state_type, "Completed");
  const revive: Primitive[] = [];
  putUpdate(revive, ["Scheduled", "AwaitingRetry", 4_000, null, null]);
  writer.commit(request(writer, 3, { ops: revive }));
  t.match(unfinished(database), [{ id: 1, state_type: "Scheduled", state_name: "AwaitingRetry", end_time: null }]);
});

t.test("deleting a run keeps its events as they were read before", async (t) => {
  const { writer, statements } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  const cached = { state_name: "Cached", state_message: "m" };
  const ended = { ...cached, end_time: 5, total_run_time: 1 };
  const task = taskRow(1, 1, "Completed", { external_id: TASK_UUID, name: "add", dynamic_key: "add-0", ...ended });
  putOperation(ops, "put_task_run", task);
  putEvent(ops, "run.scheduled", 1, "Scheduled");
  const about = { run_id: 1, flow_id: 1 };
  const ofTask = { ...about, task_run_id: 1, state_type: "Completed", ...cached } as const;
  putOperation(ops, "insert_event", eventRow("task_run.cached", 5, ofTask));
  const late = { ...about, state_type: "Scheduled", state_name: "Late", payload: '{"name":"n","a":1}' } as const;
  putOperation(ops, "insert_event", eventRow("run.late", 5, late));
  writer.commit(request(writer, 1, { ops }));
  const context = eventContext(statements);
  const before = [1, 2, 3].map((id) => eventById(statements, id, context));
  t.match(before[1], '"payload":{"dynamic_key":"add-0","flow":"f1","message":"m","project":"p","state":"Cached","task":"add"}');
  const gone: Primitive[] = [];
  putOperation(gone, "delete_run", { id: 1 });
  writer.commit(request(writer, 2, { ops: gone }));
  t.equal(runById(statements, 1), null);
  t.same(
    [1, 2, 3].map((id) => eventById(statements, id, context)),
    before,
  );
  for (const table of ["task_runs", "log_blocks", "run_tags"]) t.same(statements.raw(`SELECT * FROM ${table}`).all(), []);
});

t.test("ids don't return after a delete, also for a new writer", async (t) => {
  const { database, writer } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 41, SCHEDULED);
  writer.commit(request(writer, 1, { ops }));
  const gone: Primitive[] = [];
  putOperation(gone, "delete_flow", { id: 1 });
  writer.commit(request(writer, 2, { ops: gone }));
  const { next_ids, flows } = loadStore(database);
  t.same([next_ids.runs, next_ids.flows], [42, 2]);
  t.same([flows, unfinished(database)], [[], []]);
});

t.test("a full store refuses the commit, keeps what it had and goes on when there is room", async (t) => {
  const { database, writer } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  writer.commit(request(writer, 1, { ops }));
  const before = [loadStore(database), unfinished(database)];
  const pages = Number(database.pragma("page_count"));
  database.pragma(`max_page_count = ${pages}`);
  const lines = Array.from({ length: 500 }, (_, index) => [null, 20, "l", index, `${index} ${"y".repeat(index % 90)}`]);
  const logs = Array.from({ length: 20 }, () => [1, 0, 500, 4, JSON.stringify(lines)]).flat();
  const moves: Primitive[] = [];
  putUpdate(moves, COMPLETED);
  const large = request(writer, 2, { ops: moves, logs });
  t.throws(() => writer.commit(large), { name: "StorageError", fault: "full", disk_full: true });
  t.equal(writer.probe(), false);
  t.same([loadStore(database), unfinished(database)], before);
  database.pragma(`max_page_count = ${pages + 1_000}`);
  t.equal(writer.probe(), true);
  t.same(writer.commit(large).number, 2);
  t.same(unfinished(database), []);
});

t.test("an assignment's number does not return, also when it held no resource", async (t) => {
  const { database, writer } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, SCHEDULED);
  const state = { id: 1, ...runState(COMPLETED) };
  putOperation(ops, "update_run", { ...state, assignment_id: 12, assigned: 1 });
  writer.commit(request(writer, 1, { ops }));
  const moved: Primitive[] = [];
  putOperation(moved, "update_run", { ...state, assignment_id: 15, assigned: 0 });
  writer.commit(request(writer, 2, { ops: moved }));
  t.equal(loadStore(database).next_ids.leases, 16);
});

t.test("a run that is made and taken over by another creator in one commit is the other's", async (t) => {
  const { writer, statements } = open();
  const ops: Primitive[] = [];
  putFlow(ops);
  putRun(ops, 1, ["Scheduled", "Scheduled", 10, null, null]);
  putOperation(ops, "set_run_creator", { id: 1, created_by: "catchup" });
  writer.commit(request(writer, 1, { ops }));
  t.equal(loadRun(statements, 1)?.run.created_by, "catchup");
});
