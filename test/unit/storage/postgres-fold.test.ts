/** What PostgreSQL's writer makes of a batch, without a server: columns as binary arrays, and one row for each stored row. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { type PostgresType, putColumn, putValue } from "#storage/postgres/columns";
import { CommitMessages, type Rows } from "#storage/postgres/commit-messages";
import { BatchFolder, type FoldedBatch } from "#storage/postgres/fold-batch";
import { MessageBuffer } from "#storage/postgres/message-buffer";
import { FOLDS, type Part, RUN_PARTS, SET_REMOVALS, WRITER_PARTS } from "#storage/postgres/parts";
import { COUNTED } from "#storage/schema/codes";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import { emptyDecision } from "#storage/write/batch";
import type { CounterValues } from "#storage/write/counters";
import { putOperation } from "#storage/write/ops";
import { putRunEvent, putTaskRun, runRow, stateRow } from "../../support/storage-rows.ts";

const NONE = () => Object.fromEntries(COUNTED.map((name) => [name, 0])) as CounterValues;

function folder(living: [number, number][] = []): BatchFolder {
  return new BatchFolder({ counters: NONE(), names: new Map(), living: new Map(living) }, () => 7);
}

function fold(target: BatchFolder, ops: Primitive[], number = 1): FoldedBatch {
  const place = { number, generation: 1, refusals: 0, epoch: null };
  return target.fold({ batch: { kind: "Batch", ...place, ...emptyDecision(), ops }, logs: buildLogBlocks([], 1) });
}

/** The values of a column in the rows of a part. */
function column(folded: FoldedBatch, part: Part | undefined, name: string): Primitive[] {
  if (part === undefined) throw new Error("no such part");
  const at = part.columns.findIndex((each) => each.name === name);
  return (rowsOf(folded).get(part) ?? []).map((row) => row[at] ?? null);
}

/** The rows of a batch with a single step. */
function rowsOf({ steps: [rows, ...more] }: FoldedBatch): Rows {
  if (!(rows instanceof Map) || more.length > 0) throw new Error("not a single step of rows");
  return rows;
}

t.test("values and columns become binary, with lengths, NULLs and the numbers of 53 bits", async (t) => {
  const written = (put: (buffer: MessageBuffer) => void) => {
    // Smaller than what is written, so that the buffer grows.
    const buffer = new MessageBuffer(4);
    put(buffer);
    return buffer.whole().toString("hex");
  };
  const column = (type: PostgresType, values: Primitive[]) =>
    written((buffer) =>
      putColumn(
        buffer,
        type,
        values.map((value): [Primitive] => [value]),
        0,
      ),
    );
  const value = (type: PostgresType, given: Primitive) => written((buffer) => putValue(buffer, type, given));
  const one = (nulls: number, oid: string) => `00000001${nulls === 0 ? "00000000" : "00000001"}${oid}`;
  t.equal(
    column("int8", [1, null]),
    `00000024${one(1, "00000014")}0000000200000001000000080000000000000001ffffffff`,
    "length, dimensions, NULLs, type, number of values, first index; then each value",
  );
  t.equal(column("text", ["aé"]), `0000001b${one(0, "00000019")}00000001000000010000000361c3a9`);
  t.equal(column("int2", [null, null]), "ffffffff", "a column of nothing but NULLs is one NULL");
  t.equal(value("int8", 2 ** 53 - 1), "00000008001fffffffffffff");
  t.equal(value("int8", -2), "00000008fffffffffffffffe");
  t.equal(value("int2", 3), "000000020003");
  t.equal(value("float8", 0.5), "000000083fe0000000000000");
  t.equal(value("bytea", new Uint8Array([255, 0])), "00000002ff00");
  t.equal(value("text", null), "ffffffff");
});

t.test("a run that is created, moved and ended in one commit is one ended row", async (t) => {
  const ops: Primitive[] = [];
  putOperation(ops, "insert_run", runRow(5, stateRow("Scheduled", { marks: "d@" })));
  putOperation(ops, "update_run", { id: 5, ...stateRow("Running", { start_time: 3, marks: "r1" }) });
  putOperation(ops, "update_run", { id: 5, ...stateRow("Completed", { start_time: 3, end_time: 9, marks: "f2" }) });
  putOperation(ops, "set_lineage", { id: 5, lineage_id: 5, caller_run_id: null });
  const folded = fold(folder(), ops);
  t.equal(rowsOf(folded).has(RUN_PARTS.inserted), false);
  t.strictSame(column(folded, RUN_PARTS.insertedEnded, "end_time"), [9]);
  t.strictSame(column(folded, RUN_PARTS.insertedEnded, "marks"), ["d@7r1f2"]);
  t.strictSame(column(folded, RUN_PARTS.insertedEnded, "lineage_id"), [5]);
});

t.test("a stored run is moved, ended, reported once more and revived by the part for the table that has it", async (t) => {
  const target = folder([[1, 4]]);
  const step = (state: ReturnType<typeof stateRow>, number: number) => {
    const ops: Primitive[] = [];
    putOperation(ops, "update_run", { id: 1, ...state });
    const parts = [...rowsOf(fold(target, ops, number)).keys()];
    return (Object.keys(RUN_PARTS) as (keyof typeof RUN_PARTS)[]).filter((name) => parts.includes(RUN_PARTS[name]));
  };
  t.strictSame(step(stateRow("Running"), 1), ["moved"]);
  t.strictSame(step(stateRow("Failed", { end_time: 2 }), 2), ["ended"]);
  t.strictSame(step(stateRow("Failed", { end_time: 2, report_seq: 2 }), 3), ["endedBefore"]);
  t.strictSame(step(stateRow("Scheduled"), 4), ["revived"]);
  t.strictSame(step(stateRow("Pending"), 5), ["moved"]);
});

t.test("the last effect on a row counts, and a change of some columns goes into the row put before", async (t) => {
  const ops: Primitive[] = [];
  const lease = { run_id: 1, kind: "run", resources: "{}", created_at: 1 } as const;
  putOperation(ops, "insert_lease", { id: 1, ...lease });
  putOperation(ops, "insert_lease", { id: 2, ...lease });
  putOperation(ops, "delete_lease", { id: 1 });
  const rule = {
    external_id: "01900001-0000-7000-8000-000000000001",
    name: "r",
    enabled: 1,
    source: "ui",
    module: null,
  } as const;
  const times = { since_event: 0, since_time: 0, created_at: 1, updated_at: 1 };
  putOperation(ops, "put_rule", { id: 3, ...rule, spec: "{}", fire_count: 0, last_fired: null, ...times });
  putOperation(ops, "fire_rule", { id: 3, fire_count: 1, last_fired: 8 });
  const folded = fold(folder(), ops);
  t.strictSame(column(folded, FOLDS.insert_lease?.inserted, "id"), [2]);
  t.strictSame(column(folded, FOLDS.delete_lease?.part, "id"), [1]);
  t.strictSame(column(folded, FOLDS.put_rule?.inserted, "last_fired"), [8]);
  t.equal(folded.counters[COUNTED.indexOf("leases")], 2, "ids are not given again");
});

t.test("a row with an id above all stored ones is inserted, another replaces or is inserted", async (t) => {
  const target = folder([[1, 4]]);
  const step = (ids: readonly number[], number: number) => {
    const ops: Primitive[] = [];
    for (const id of ids) putTaskRun(ops, id, 1, "Running", "Running");
    const folded = fold(target, ops, number);
    const { inserted, part } = FOLDS.put_task_run ?? {};
    return { inserted: column(folded, inserted, "id"), put: column(folded, part, "id") };
  };
  t.strictSame(step([5, 3, 5], 1), { inserted: [5, 3], put: [] }, "twice in one commit is still one new row");
  t.strictSame(step([5, 4, 6], 2), { inserted: [6], put: [5, 4] });
});

t.test("events get ids in their order, and a row of the coarse index once", async (t) => {
  const target = folder([[1, 4]]);
  const ops: Primitive[] = [];
  putRunEvent(ops, "run.running", 1, 4, "Running", 5);
  putRunEvent(ops, "run.running", 1, 4, "Running", 3);
  putTaskRun(ops, 9, 1, "Completed", "Completed");
  const folded = fold(target, ops);
  t.strictSame(column(folded, WRITER_PARTS.events, "id"), [1, 2]);
  t.strictSame(rowsOf(folded).get(WRITER_PARTS.eventTimes), [[0, 3, 5, 5, 0]]);
  const repeated = fold(target, ops, 2);
  t.strictSame(column(repeated, WRITER_PARTS.events, "id"), [3, 4]);
  t.equal(rowsOf(repeated).has(WRITER_PARTS.stretches), false);
  t.equal(folded.result.first_event_id, 1);
  t.equal(repeated.result.first_event_id, 3);
});

t.test("an operation on a set of rows is a step between those of what comes before and after", async (t) => {
  const ops: Primitive[] = [];
  const lease = { run_id: 2, kind: "run", resources: "{}", created_at: 1 } as const;
  putOperation(ops, "insert_lease", { id: 1, ...lease });
  putOperation(ops, "delete_run", { id: 1 });
  putOperation(ops, "count_runs", { flow_id: 4, state_type: "Failed", delta: -1 });
  putOperation(ops, "delete_run", { id: 2 });
  putOperation(ops, "insert_lease", { id: 2, ...lease });
  const { steps } = fold(folder([[1, 4]]), ops);
  const parts = (step: unknown) => (step instanceof Map ? [...step.keys()] : step);
  const inserted = FOLDS.insert_lease?.inserted;
  t.strictSame(steps.map(parts), [[inserted], { kind: "delete_runs", ids: [1, 2] }, [inserted, WRITER_PARTS.counts]]);
});

t.test("a removal of what it finds is written after what the commit puts before, in the same round trip", async (t) => {
  const ops: Primitive[] = [];
  const answer = { ordinal: 0, value: "1", created_at: 1 };
  putOperation(ops, "insert_answer", { run_id: 1, ...answer });
  putOperation(ops, "delete_answers", { run_id: 1 });
  putOperation(ops, "delete_answers", { run_id: 2 });
  putOperation(ops, "insert_answer", { run_id: 1, ...answer });
  const { steps } = fold(folder(), ops);
  const parts = (step: unknown) => (step instanceof Map ? [...step.keys()] : step);
  const [put, removal] = [FOLDS.insert_answer?.part, SET_REMOVALS.delete_answers?.part];
  t.strictSame(steps.map(parts), [[put], [removal, put]]);
});

t.test("a NUL character of a text becomes U+FFFD, in rows and in keys", async (t) => {
  const ops: Primitive[] = [];
  putRunEvent(ops, "a\0b", 1, 4, "Running", 5);
  putOperation(ops, "put_cursor", { name: "c\0", event_id: 1 });
  const folded = fold(folder([[1, 4]]), ops);
  t.strictSame(column(folded, WRITER_PARTS.names, "name"), ["a\uFFFDb", "run"]);
  t.strictSame(column(folded, FOLDS.put_cursor?.part, "name"), ["c\uFFFD"]);
});

/** The codes of protocol messages, each a byte before a length that counts itself. */
function codesOf(messages: Buffer): string {
  let codes = "";
  for (let at = 0; at < messages.length; at += 1 + messages.readUInt32BE(at + 1)) codes += String.fromCharCode(messages[at] ?? 0);
  return codes;
}

t.test("a statement is prepared by the first commit that needs it, and once more after a failed commit", async (t) => {
  const commits = new CommitMessages();
  const target = folder([1, 2, 3, 4].map((id): [number, number] => [id, 1]));
  const codes = (number: number) => {
    const ops: Primitive[] = [];
    putOperation(ops, "update_run", { id: number, ...stateRow("Running") });
    const folded = fold(target, ops, number);
    const fence = { owner: { member: 1, epoch: 1 }, number, counters: folded.counters, result: "[1,1]", commands: "[]" };
    return codesOf(commits.messages(fence, [rowsOf(folded)]));
  };
  const parts = ["fence", "moved"];
  const prepared = parts.map(() => "CPBE").join("");
  t.equal(codes(1), `${prepared}S`, "close, parse, bind, execute for each part, then one Sync");
  t.equal(codes(2), `${parts.map(() => "BE").join("")}S`);
  commits.forget();
  t.equal(codes(3), `${prepared}S`);
});
