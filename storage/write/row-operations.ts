/** The plain row operations of a batch: the statement, and how each value is encoded. Built from the columns in ops.ts. */

import { uuidToBytes } from "#protocol/values/uuid";
import type { Primitive } from "#protocol/wire/feed";
import { type Counted, stateCodeOrNull } from "../schema/codes.ts";
import { OPERATIONS, type OperationName } from "./ops.ts";

/** Encodes one value; the values of the operation start at `at`. */
type Encode = (values: readonly Primitive[], at: number) => Primitive;

export interface RowOperation {
  sql: string;
  encoders: readonly Encode[];
  /** The table whose id counter the first value raises. */
  counted: Counted | null;
}

const JSON_OBJECTS = new Set(["parameters", "parameter_schema", "options", "state_details", "task_counts", "extra_parameters"]);
const JSON_LISTS = new Set(["tags", "parents", "related"]);

/** An insert; for an existing row, updates the other columns or does nothing. */
function insertInto(table: string, columns: readonly string[], conflict = ""): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})${conflict}`;
}

function upsertInto(table: string, columns: readonly string[], key: readonly string[]): string {
  const rest = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  return insertInto(table, columns, ` ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${rest.join(", ")}`);
}

function updateOf(table: string, columns: readonly string[]): string {
  const [key, ...rest] = columns;
  return `UPDATE ${table} SET ${rest.map((column) => `${column} = ?`).join(", ")} WHERE ${key} = ?`;
}

function encoderOf(columns: readonly string[], index: number): Encode {
  const column = columns[index] ?? "";
  if (column === "external_id")
    return (values, at) => {
      const value = values[at + index] ?? null;
      return typeof value === "string" ? uuidToBytes(value) : value;
    };
  if (column === "state_type") return (values, at) => stateCodeOrNull(values[at + index] ?? null);
  if (column === "state_name") {
    const type = columns.indexOf("state_type");
    return (values, at) => (values[at + index] === values[at + type] ? null : (values[at + index] ?? null));
  }
  if (JSON_OBJECTS.has(column)) return (values, at) => (values[at + index] === "{}" ? null : (values[at + index] ?? null));
  if (JSON_LISTS.has(column)) return (values, at) => (values[at + index] === "[]" ? null : (values[at + index] ?? null));
  return (values, at) => values[at + index] ?? null;
}

export function encodersOf(columns: readonly string[]): Encode[] {
  return columns.map((_, index) => encoderOf(columns, index));
}

/** The encoders of an update, whose key is bound last. */
function keyLast(encoders: readonly Encode[]): Encode[] {
  return [...encoders.slice(1), ...encoders.slice(0, 1)];
}

function updateOperation(name: "update_flow" | "update_run" | "fire_rule", table: string): RowOperation {
  const columns = OPERATIONS[name];
  return { sql: updateOf(table, columns), encoders: keyLast(encodersOf(columns)), counted: null };
}

function operation(name: OperationName, sql: string, counted: Counted | null = null): RowOperation {
  return { sql, encoders: encodersOf(OPERATIONS[name]), counted };
}

/** Operations that are a single plain statement; the others are in apply.ts and delete-rows.ts. */
export const ROW_OPERATIONS: Partial<Record<OperationName, RowOperation>> = {
  insert_flow: operation("insert_flow", insertInto("flows", OPERATIONS.insert_flow), "flows"),
  update_flow: updateOperation("update_flow", "flows"),
  put_artifact: operation("put_artifact", upsertInto("artifacts", OPERATIONS.put_artifact, ["id"]), "artifacts"),
  insert_lease: operation("insert_lease", insertInto("leases", OPERATIONS.insert_lease), "leases"),
  delete_lease: operation("delete_lease", "DELETE FROM leases WHERE id = ?"),
  insert_answer: operation("insert_answer", upsertInto("answers", OPERATIONS.insert_answer, ["run_id", "ordinal"])),
  delete_answers: operation("delete_answers", "DELETE FROM answers WHERE run_id = ?"),
  put_variable: operation("put_variable", upsertInto("variables", OPERATIONS.put_variable, ["name"])),
  delete_variable: operation("delete_variable", "DELETE FROM variables WHERE name = ?"),
  put_rule: operation("put_rule", upsertInto("rules", OPERATIONS.put_rule, ["id"]), "rules"),
  fire_rule: updateOperation("fire_rule", "rules"),
  delete_rule: operation("delete_rule", "DELETE FROM rules WHERE id = ?"),
  put_guards: operation("put_guards", upsertInto("rule_guards", OPERATIONS.put_guards, ["rule_id"])),
  delete_guards: operation("delete_guards", "DELETE FROM rule_guards WHERE rule_id = ?"),
  put_fired: operation("put_fired", insertInto("fired", OPERATIONS.put_fired, " ON CONFLICT DO NOTHING")),
  put_firing: operation("put_firing", upsertInto("firings", OPERATIONS.put_firing, ["id"]), "firings"),
  put_expectation: operation("put_expectation", upsertInto("expectations", OPERATIONS.put_expectation, ["id"]), "expectations"),
  put_outbound: operation("put_outbound", upsertInto("outbound", OPERATIONS.put_outbound, ["id"]), "outbound"),
  delete_outbound: operation("delete_outbound", "DELETE FROM outbound WHERE id = ?"),
  put_cursor: operation("put_cursor", upsertInto("cursors", OPERATIONS.put_cursor, ["name"])),
  insert_quarantine: operation("insert_quarantine", insertInto("quarantine", OPERATIONS.insert_quarantine)),
  put_chain: operation("put_chain", upsertInto("chains", OPERATIONS.put_chain, ["run_id"])),
  put_engine: operation("put_engine", upsertInto("engines", OPERATIONS.put_engine, ["id"])),
  delete_engine: operation("delete_engine", "DELETE FROM engines WHERE id = ?"),
  put_rerun: operation("put_rerun", upsertInto("reruns", OPERATIONS.put_rerun, ["run_id"])),
  put_fan_in: operation("put_fan_in", upsertInto("fan_in", OPERATIONS.put_fan_in, ["downstream_id", "value", "flow_id"])),
  delete_fan_in: operation("delete_fan_in", "DELETE FROM fan_in WHERE downstream_id = ? AND value = ? AND flow_id = ?"),
  put_idempotency: operation("put_idempotency", upsertInto("idempotency", OPERATIONS.put_idempotency, ["key"])),
  delete_idempotency: operation("delete_idempotency", "DELETE FROM idempotency WHERE created_at < ?"),
  put_schedule: operation("put_schedule", upsertInto("schedules", OPERATIONS.put_schedule, ["id"]), "schedules"),
  delete_schedule: operation("delete_schedule", "DELETE FROM schedules WHERE id = ?"),
  put_skip: operation("put_skip", upsertInto("skips", OPERATIONS.put_skip, ["schedule_id", "fire"])),
  delete_skip: operation("delete_skip", "DELETE FROM skips WHERE schedule_id = ? AND fire = ?"),
  delete_skips: operation("delete_skips", "DELETE FROM skips WHERE schedule_id = ?"),
  put_backfill: operation("put_backfill", upsertInto("backfills", OPERATIONS.put_backfill, ["id"]), "backfills"),
  put_clock: operation("put_clock", upsertInto("clock", OPERATIONS.put_clock, ["id"])),
  set_run_creator: {
    sql: "UPDATE runs SET created_by = ? WHERE id = ?",
    encoders: keyLast(encodersOf(OPERATIONS.set_run_creator)),
    counted: null,
  },
  delete_rerun: operation("delete_rerun", "DELETE FROM reruns WHERE run_id = ?"),
};

/** Statements of the operations that are merged within a commit (run-writer.ts). */
export const INSERT_RUN: RowOperation = operation("insert_run", insertInto("runs", OPERATIONS.insert_run), "runs");
export const UPDATE_RUN: RowOperation = updateOperation("update_run", "runs");
export const PUT_TASK_RUN: RowOperation = operation(
  "put_task_run",
  upsertInto("task_runs", OPERATIONS.put_task_run, ["id"]),
  "task_runs",
);

/** Columns set when a run ends; most indexes cover only ended runs. */
const ENDING = new Set(["end_time", "total_run_time"]);
const LIVING = OPERATIONS.update_run.filter((column) => !ENDING.has(column));

/**
 * The same update for a run that has not ended: without the ending columns, so that SQLite has no index to rewrite. Changes
 * no row when the stored run has ended (a revived run); then UPDATE_RUN is needed.
 */
export const UPDATE_LIVING_RUN = {
  sql: `${updateOf("runs", LIVING)} AND end_time IS NULL`,
  encoders: keyLast(encodersOf(OPERATIONS.update_run).filter((_, index) => !ENDING.has(OPERATIONS.update_run[index] ?? ""))),
};

/** The encoded values of one operation, in the order they are bound. */
export function encode(encoders: readonly Encode[], values: readonly Primitive[], at: number): Primitive[] {
  const bound: Primitive[] = new Array(encoders.length);
  for (let index = 0; index < encoders.length; index++) bound[index] = encoders[index]?.(values, at) ?? null;
  return bound;
}
