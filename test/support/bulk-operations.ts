/** Expands operations for many rows into the equivalent operations of single rows, for tests and checkers. */

import { bytesToUuid } from "#protocol/values/uuid";
import type { Primitive } from "#protocol/wire/feed";
import { CREATED_MARK } from "#storage/schema/run-marks";
import { COLUMNS, type NewRunRow, OPERATION_NAMES, type OperationName, putOperation, type RowOf } from "#storage/write/ops";
import { rowAt } from "#storage/write/row-values";
import { eventRow, runRow, stateRow } from "./storage-rows.ts";

/** Flat, as in a decision. Empty for an operation of one row. */
export function singleOperations(name: OperationName, values: readonly Primitive[]): Primitive[] {
  if (name === "insert_backfill_runs") return runs(rowAt(name, values, 0));
  if (name === "insert_new_runs") return newRuns(rowAt(name, values, 0));
  return name === "insert_run_events" ? events(rowAt(name, values, 0)) : [];
}

/** The name of the operation at `at` and its values. */
export function operationAt(ops: readonly Primitive[], at: number): { name: OperationName; values: Primitive[] } {
  const name = OPERATION_NAMES[Number(ops[at])];
  if (name === undefined) throw new Error(`no operation has the code ${String(ops[at])}`);
  const values = ops.slice(at + 1, at + 1 + COLUMNS[name].length);
  if (values.length < COLUMNS[name].length) throw new Error(`${name} is not complete`);
  return { name, values };
}

function runs(made: RowOf<"insert_backfill_runs">): Primitive[] {
  const ops: Primitive[] = [];
  const { first_id, count, external_ids, flow_id, tags, priority, created_by, created_at, backfill_id } = made;
  const length = made.values.length / count;
  const state = stateRow("Scheduled", { state_timestamp: created_at, marks: CREATED_MARK });
  for (let index = 0; index < count; index += 1) {
    const text = made.values.slice(index * length, (index + 1) * length);
    const row = runRow(first_id + index, state, {
      external_id: bytesToUuid(external_ids.subarray(index * 16, index * 16 + 16)),
      name: `${made.name_head}${text.replaceAll(":", "")}`,
      parameters: `${made.parameters_head}${text}${made.parameters_tail}`,
      ...{ flow_id, tags, priority, created_by, created_at, backfill_id },
    });
    putOperation(ops, "insert_run", row);
  }
  return ops;
}

/** The runs, then the events of their creation. */
function newRuns(made: RowOf<"insert_new_runs">): Primitive[] {
  const [ops, events]: [Primitive[], Primitive[]] = [[], []];
  const { first_id, external_ids, created_at, rule_depth } = made;
  const state = stateRow("Scheduled", { state_timestamp: created_at, marks: CREATED_MARK });
  for (const [index, columns] of (JSON.parse(made.rows) as NewRunRow[]).entries()) {
    const [flow_id, priority, name, created_by, tags, parameters] = columns;
    const external_id = bytesToUuid(external_ids.subarray(index * 16, index * 16 + 16));
    const run_id = first_id + index;
    const row = { external_id, flow_id, priority, created_by, created_at, tags, name, parameters };
    putOperation(ops, "insert_run", runRow(run_id, state, row));
    const event = { run_id, flow_id, state_type: "Scheduled", state_name: "Scheduled" } as const;
    putOperation(events, "insert_event", eventRow("run.scheduled", created_at, event));
    if (rule_depth > 0) putOperation(events, "put_event_chain", { depth: rule_depth });
  }
  return [...ops, ...events];
}

function events({
  name,
  occurred,
  first_run_id,
  count,
  flow_id,
  state_type,
  rule_depth,
}: RowOf<"insert_run_events">): Primitive[] {
  const ops: Primitive[] = [];
  for (let index = 0; index < count; index += 1) {
    const row = { run_id: first_run_id + index, flow_id, state_type, state_name: state_type };
    putOperation(ops, "insert_event", eventRow(name, occurred, row));
    if (rule_depth > 0) putOperation(ops, "put_event_chain", { depth: rule_depth });
  }
  return ops;
}
