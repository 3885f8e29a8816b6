/** Rows are stored as they were given, whichever of their columns are NULL and however often they change. */
import t from "tap";
import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation, type RunStateRow } from "#storage/write/ops";
import { eventRow, flowRow, openStore, request, runRow, stateRow, taskRow } from "../../support/storage-rows.ts";

/** More sets of NULL columns than an operation has statements. */
const SETS = 64;

/** The value, or null when this bit of the set is set. */
function unless<Value>(set: number, bit: number, value: Value): Value | null {
  return (set & (1 << bit)) === 0 ? value : null;
}

t.test("any set of columns can be NULL", async (t) => {
  const { writer, statements, database } = openStore();
  t.teardown(() => void database.close());
  const ops: Primitive[] = [];
  const given: (Primitive | undefined)[][] = [];
  for (let set = 0; set < SETS; set++) {
    const row = {
      start_time: unless(set, 0, 10),
      end_time: unless(set, 1, 20),
      total_run_time: unless(set, 2, 30),
      state_message: unless(set, 3, `message ${set}`),
      dynamic_key: `t-${set}`,
      state_details: unless(set, 4, `{"set":${set}}`) ?? "{}",
      state_timestamp: unless(set, 5, 40) ?? 41,
    };
    putOperation(ops, "put_task_run", taskRow(set + 1, 1, "Running", row));
    given.push([row.start_time, row.end_time, row.total_run_time, row.state_message, row.dynamic_key]);
  }
  writer.commit(request(writer, 1, { ops }));
  const columns = "start_time, end_time, total_run_time, state_message, dynamic_key";
  t.strictSame(statements.raw(`SELECT ${columns} FROM task_runs ORDER BY id`).all(), given);
});

t.test("events of one statement may differ in their NULL columns", async (t) => {
  const { writer, statements, database } = openStore();
  t.teardown(() => void database.close());
  const ops: Primitive[] = [];
  const given: (Primitive | undefined)[][] = [];
  for (let set = 0; set < SETS; set++) {
    const row = {
      flow_id: unless(set, 0, 1),
      state_message: unless(set, 1, `message ${set}`),
      payload: unless(set, 2, `{"set":${set}}`),
      run_id: unless(set, 3, set + 100),
    };
    putOperation(ops, "insert_event", eventRow("custom", set, row));
    given.push([set, row.flow_id, row.state_message, row.payload, row.run_id]);
  }
  writer.commit(request(writer, 1, { ops }));
  t.strictSame(statements.raw("SELECT occurred, flow_id, state_message, payload, run_id FROM events ORDER BY id").all(), given);
});

t.test("a run that has ended is stored as its last update says: a report after its end, another end, a revival", async (t) => {
  const { writer, statements, database } = openStore();
  t.teardown(() => void database.close());
  const first: Primitive[] = [];
  putOperation(first, "insert_flow", flowRow(1));
  putOperation(first, "insert_run", runRow(1, stateRow("Running", { start_time: 5 })));
  writer.commit(request(writer, 1, { ops: first }));
  const ended = (end_time: number, report_seq: number): RunStateRow =>
    stateRow("Completed", { start_time: 5, end_time, total_run_time: end_time - 5, report_seq });
  const updates: [what: string, state: RunStateRow][] = [
    ["its end", ended(9, 1)],
    ["a report after its end", ended(9, 2)],
    ["another report", ended(9, 3)],
    ["another end", ended(12, 4)],
    ["a report after the other end", ended(12, 5)],
    ["the same end with another time of execution", { ...ended(12, 6), total_run_time: 3 }],
    ["a revival", stateRow("Running" satisfies StateType, { start_time: 5, report_seq: 7 })],
    ["the end after the revival", ended(12, 8)],
  ];
  let number = 2;
  for (const [what, state] of updates) {
    const ops: Primitive[] = [];
    putOperation(ops, "update_run", { id: 1, ...state });
    writer.commit(request(writer, number++, { ops }));
    const [row] = statements.raw("SELECT start_time, end_time, total_run_time, report_seq FROM runs").all();
    t.strictSame(row, [state.start_time, state.end_time, state.total_run_time, state.report_seq], what);
    t.equal(
      statements.raw("SELECT count(*) FROM runs WHERE end_time = ?").all(state.end_time)[0]?.[0],
      state.end_time === null ? 0 : 1,
    );
  }
});
