/** What PostgreSQL's writer makes of a batch, without a server: columns as binary arrays, and one row for each stored row. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { COUNTED } from "#storage/schema/codes";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import { emptyDecision } from "#storage/write/batch";
import type { CounterValues } from "#storage/write/counters";
import { putOperation } from "#storage/write/ops";
import { columnArray, type PostgresType } from "../../load/postgres/columns.ts";
import { CommitStatements } from "../../load/postgres/commit-statement.ts";
import { BatchFolder, type FoldedBatch } from "../../load/postgres/fold-batch.ts";
import { FOLDS, type Part, RUN_PARTS, WRITER_PARTS } from "../../load/postgres/parts.ts";
import { putRunEvent, putTaskRun, runRow, stateRow } from "../../support/storage-rows.ts";

const NONE = () => Object.fromEntries(COUNTED.map((name) => [name, 0])) as CounterValues;

function folder(living: [number, number][] = []): BatchFolder {
  return new BatchFolder({ counters: NONE(), names: new Map(), living: new Map(living) }, () => 7);
}

function fold(target: BatchFolder, ops: Primitive[], number = 1): FoldedBatch {
  const place = { source: 1, number, generation: 1, refusals: 0, epoch: null };
  return target.fold({ batch: { kind: "Batch", ...place, ...emptyDecision(), ops }, logs: buildLogBlocks([], 1) });
}

/** The values of a column in the rows of a part. */
function column({ rows }: FoldedBatch, part: Part | undefined, name: string): Primitive[] {
  if (part === undefined) throw new Error("no such part");
  const at = part.columns.findIndex((each) => each.name === name);
  return (rows.get(part) ?? []).map((row) => row[at] ?? null);
}

t.test("columns become binary arrays with lengths, NULLs and the numbers of 53 bits", async (t) => {
  const hex = (type: PostgresType, values: Primitive[]) =>
    columnArray(
      type,
      values.map((value): [Primitive] => [value]),
      0,
    )
      .toString("hex")
      .slice(16);
  t.equal(hex("int8", [1, null]), "00000014000000020000000100000008" + "0000000000000001" + "ffffffff");
  t.equal(hex("int8", [2 ** 53 - 1, -2]), "000000140000000200000001" + "00000008001fffffffffffff" + "00000008fffffffffffffffe");
  t.equal(hex("int2", [3]), "000000150000000100000001" + "000000020003");
  t.equal(hex("float8", [0.5]), "000002bd0000000100000001" + "000000083fe0000000000000");
  t.equal(hex("text", ["aé"]), "000000190000000100000001" + "0000000361c3a9");
  t.equal(hex("bytea", [new Uint8Array([255, 0])]), "000000110000000100000001" + "00000002ff00");
  t.equal(columnArray("int8", [[1], [null]], 0).readInt32BE(4), 1, "the header says that there are NULLs");
  t.equal(columnArray("int8", [[1]], 0).readInt32BE(4), 0);
});

t.test("a run that is created, moved and ended in one commit is one ended row", async (t) => {
  const ops: Primitive[] = [];
  putOperation(ops, "insert_run", runRow(5, stateRow("Scheduled", { marks: "d@" })));
  putOperation(ops, "update_run", { id: 5, ...stateRow("Running", { start_time: 3, marks: "r1" }) });
  putOperation(ops, "update_run", { id: 5, ...stateRow("Completed", { start_time: 3, end_time: 9, marks: "f2" }) });
  putOperation(ops, "set_lineage", { id: 5, lineage_id: 5, caller_run_id: null });
  const folded = fold(folder(), ops);
  t.equal(folded.rows.has(RUN_PARTS.inserted), false);
  t.strictSame(column(folded, RUN_PARTS.insertedEnded, "end_time"), [9]);
  t.strictSame(column(folded, RUN_PARTS.insertedEnded, "marks"), ["d@7r1f2"]);
  t.strictSame(column(folded, RUN_PARTS.insertedEnded, "lineage_id"), [5]);
});

t.test("a stored run is moved, ended, reported once more and revived by the part for the table that has it", async (t) => {
  const target = folder([[1, 4]]);
  const step = (state: ReturnType<typeof stateRow>, number: number) => {
    const ops: Primitive[] = [];
    putOperation(ops, "update_run", { id: 1, ...state });
    const parts = [...fold(target, ops, number).rows.keys()];
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
  t.strictSame(column(folded, FOLDS.insert_lease?.part, "id"), [2]);
  t.strictSame(column(folded, FOLDS.delete_lease?.part, "id"), [1]);
  t.strictSame(column(folded, FOLDS.put_rule?.part, "last_fired"), [8]);
  t.equal(folded.counters[COUNTED.indexOf("leases")], 2, "ids are not given again");
});

t.test("events get ids in their order, and a row of the coarse index once", async (t) => {
  const target = folder([[1, 4]]);
  const ops: Primitive[] = [];
  putRunEvent(ops, "run.running", 1, 4, "Running", 5);
  putRunEvent(ops, "run.running", 1, 4, "Running", 3);
  putTaskRun(ops, 9, 1, "Completed", "Completed");
  const folded = fold(target, ops);
  t.strictSame(column(folded, WRITER_PARTS.events, "id"), [1, 2]);
  t.strictSame(folded.rows.get(WRITER_PARTS.eventTimes), [[0, 3, 5, 5, 0]]);
  const repeated = fold(target, ops, 2);
  t.strictSame(column(repeated, WRITER_PARTS.events, "id"), [3, 4]);
  t.equal(repeated.rows.has(WRITER_PARTS.stretches), false);
  t.equal(folded.result.first_event_id, 1);
  t.equal(repeated.result.first_event_id, 3);
});

t.test("an operation on many rows is refused, and equal sets of parts share a statement", async (t) => {
  const ops: Primitive[] = [];
  putOperation(ops, "delete_run", { id: 1 });
  t.throws(() => fold(folder(), ops), { message: "delete_run cannot be folded into one statement" });
  const statements = new CommitStatements();
  const names = [1, 2].map((number) => {
    const moves: Primitive[] = [];
    putOperation(moves, "update_run", { id: number, ...stateRow("Running") });
    return statements.statement({ member: 1, epoch: 1, number }, fold(folder([[number, 1]]), moves, number)).name;
  });
  t.equal(names[0], names[1]);
});
