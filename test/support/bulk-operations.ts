/** Expands operations for many rows into the equivalent operations of single rows, for tests and checkers. */

import { bytesToUuid } from "#protocol/values/uuid";
import type { Primitive } from "#protocol/wire/feed";
import { OPERATION_NAMES, OPERATIONS, type OperationName, putOperation } from "#storage/write/ops";

/** Flat, as in a decision. Empty for an operation of one row. */
export function singleOperations(name: OperationName, values: readonly Primitive[]): Primitive[] {
  const columns: readonly string[] = OPERATIONS[name];
  const value = (column: string): Primitive => values[columns.indexOf(column)] ?? null;
  if (name === "insert_backfill_runs") return runs(value);
  return name === "insert_run_events" ? events(value) : [];
}

/** The name of the operation at `at` and its values. */
export function operationAt(ops: readonly Primitive[], at: number): { name: OperationName; values: Primitive[] } {
  const name = OPERATION_NAMES[Number(ops[at])];
  if (name === undefined) throw new Error(`no operation has the code ${String(ops[at])}`);
  const values = ops.slice(at + 1, at + 1 + OPERATIONS[name].length);
  if (values.length < OPERATIONS[name].length) throw new Error(`${name} is not complete`);
  return { name, values };
}

function runs(value: (column: string) => Primitive): Primitive[] {
  const ops: Primitive[] = [];
  const count = Number(value("count"));
  const joined = String(value("values"));
  const created = value("created_at");
  for (let index = 0; index < count; index += 1) {
    const text = joined.slice((index * joined.length) / count, ((index + 1) * joined.length) / count);
    const bytes = (value("external_ids") as Uint8Array).subarray(index * 16, index * 16 + 16);
    const name = `${value("name_head")}${text.replaceAll(":", "")}`;
    const parameters = `${value("parameters_head")}${text}${value("parameters_tail")}`;
    const identity = [Number(value("first_id")) + index, bytesToUuid(bytes), value("flow_id"), name, parameters] as const;
    const origin = [value("tags"), value("priority"), 0, value("created_by"), created, null, null] as const;
    const state = [
      "Scheduled",
      "Scheduled",
      created,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      null,
      0,
      null,
      0,
      0,
      0,
      null,
    ] as const;
    putOperation(ops, "insert_run", ...identity, ...origin, value("backfill_id"), null, ...state);
  }
  return ops;
}

function events(value: (column: string) => Primitive): Primitive[] {
  const ops: Primitive[] = [];
  const [name, occurred, flow, type, depth] = ["name", "occurred", "flow_id", "state_type", "rule_depth"].map(value);
  for (let index = 0; index < Number(value("count")); index += 1) {
    const about = [name ?? null, occurred ?? null, Number(value("first_run_id")) + index, flow ?? null, null] as const;
    putOperation(ops, "insert_event", ...about, type ?? null, type ?? null, null, null, null, null);
    if (Number(depth) > 0) putOperation(ops, "put_event_chain", depth ?? null);
  }
  return ops;
}
