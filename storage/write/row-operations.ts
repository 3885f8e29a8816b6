/**
 * The plain row operations of a batch: the statement, and how each value is encoded. Built from the columns in ops.ts.
 *
 * SQLite only: null-safe IS (IS NOT DISTINCT FROM).
 */

import { uuidToBytes } from "#protocol/values/uuid";
import type { Primitive } from "#protocol/wire/feed";
import { COUNTED, type Counted, stateCodeOrNull } from "../schema/codes.ts";
import type { Column } from "./columns.ts";
import { COLUMNS, OPERATIONS, type OperationName, type RowOf } from "./ops.ts";

/** Encodes one value; the values of the operation start at `at`. */
type Encode = (values: readonly Primitive[], at: number) => Primitive;

/** How a value is stored: encoded by a function, or as it is, from this position of the operation. */
export type Encoder = Encode | number;

type ColumnOf<N extends OperationName> = keyof RowOf<N> & string;

export interface RowOperation {
  sql: string;
  encoders: readonly Encoder[];
  /** The id counter that the row raises, and the position of the id. */
  counted: { name: Counted; id: number } | null;
}

/** The encoders of these columns of an operation, by kind. */
export function encodersOf<N extends OperationName>(name: N, columns: readonly ColumnOf<N>[] = COLUMNS[name]): Encoder[] {
  return columns.map((column) => encoderOf(name, column));
}

function encoderOf<N extends OperationName>(name: N, column: ColumnOf<N>): Encoder {
  const { kind }: Column = (OPERATIONS[name] as Readonly<Record<ColumnOf<N>, Column>>)[column];
  const index = COLUMNS[name].indexOf(column);
  switch (kind) {
    case "uuid":
      return (values, at) => {
        const value = values[at + index] ?? null;
        return typeof value === "string" ? uuidToBytes(value) : value;
      };
    case "hex":
      return (values, at) => {
        const value = values[at + index] ?? null;
        return typeof value === "string" ? Buffer.from(value, "hex") : value;
      };
    case "state_type":
      return (values, at) => stateCodeOrNull(values[at + index] ?? null);
    case "state_name": {
      const type = (COLUMNS[name] as readonly string[]).indexOf("state_type");
      return (values, at) => (values[at + index] === values[at + type] ? null : (values[at + index] ?? null));
    }
    case "json_object":
      return (values, at) => (values[at + index] === "{}" ? null : (values[at + index] ?? null));
    case "json_list":
      return (values, at) => (values[at + index] === "[]" ? null : (values[at + index] ?? null));
    default:
      return index;
  }
}

/** The stored form of one value. */
export function encoded(encoder: Encoder | undefined, values: readonly Primitive[], at: number): Primitive {
  return (typeof encoder === "function" ? encoder(values, at) : values[at + (encoder ?? 0)]) ?? null;
}

/** An insert; `conflict` is what follows for an existing row. */
function insert<N extends OperationName>(name: N, table: string, conflict = ""): RowOperation {
  const columns = COLUMNS[name];
  const counted = COUNTED.find((each) => each === table);
  return {
    sql: `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})${conflict}`,
    encoders: encodersOf(name),
    counted: counted === undefined ? null : { name: counted, id: (columns as readonly string[]).indexOf("id") },
  };
}

/** An insert that updates the other columns of an existing row with this key. */
function upsert<N extends OperationName>(name: N, table: string, key: readonly ColumnOf<N>[]): RowOperation {
  const rest = COLUMNS[name].filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`);
  return insert(name, table, ` ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${rest.join(", ")}`);
}

/** An update of these columns of the row with this id, which is bound last. */
function update<N extends OperationName>(name: N, table: string, columns: readonly ColumnOf<N>[] = COLUMNS[name]): RowOperation {
  const rest = columns.filter((column) => column !== "id");
  const sql = `UPDATE ${table} SET ${rest.map(assignment).join(", ")} WHERE id = ?`;
  return { sql, encoders: encodersOf(name, [...rest, "id" as ColumnOf<N>]), counted: null };
}

/** Marks are appended, so that the core need not keep those that are stored. */
function assignment(column: string): string {
  return column === "marks" ? "marks = concat(marks, ?)" : `${column} = ?`;
}

/** Deletes the rows that have the values of the operation. */
function remove<N extends OperationName>(name: N, table: string): RowOperation {
  const conditions = COLUMNS[name].map((column) => `${column} = ?`).join(" AND ");
  return { sql: `DELETE FROM ${table} WHERE ${conditions}`, encoders: encodersOf(name), counted: null };
}

/** Operations that are a single plain statement; `Writer` has the others. */
export const ROW_OPERATIONS = {
  insert_flow: insert("insert_flow", "flows"),
  update_flow: update("update_flow", "flows"),
  put_artifact: upsert("put_artifact", "artifacts", ["id"]),
  insert_lease: insert("insert_lease", "leases"),
  delete_lease: remove("delete_lease", "leases"),
  insert_answer: upsert("insert_answer", "answers", ["run_id", "ordinal"]),
  delete_answers: remove("delete_answers", "answers"),
  put_variable: upsert("put_variable", "variables", ["name"]),
  delete_variable: remove("delete_variable", "variables"),
  put_setting: upsert("put_setting", "settings", ["name"]),
  put_rule: upsert("put_rule", "rules", ["id"]),
  fire_rule: update("fire_rule", "rules"),
  delete_rule: remove("delete_rule", "rules"),
  put_guards: upsert("put_guards", "rule_guards", ["rule_id"]),
  delete_guards: remove("delete_guards", "rule_guards"),
  put_fired: insert("put_fired", "fired", " ON CONFLICT DO NOTHING"),
  put_firing: upsert("put_firing", "firings", ["id"]),
  put_expectation: upsert("put_expectation", "expectations", ["id"]),
  put_outbound: upsert("put_outbound", "outbound", ["id"]),
  delete_outbound: remove("delete_outbound", "outbound"),
  put_cursor: upsert("put_cursor", "cursors", ["name"]),
  insert_quarantine: insert("insert_quarantine", "quarantine"),
  put_chain: upsert("put_chain", "chains", ["run_id"]),
  put_engine: upsert("put_engine", "engines", ["id"]),
  delete_engine: remove("delete_engine", "engines"),
  put_rerun: upsert("put_rerun", "reruns", ["run_id"]),
  delete_rerun: remove("delete_rerun", "reruns"),
  put_fan_in: upsert("put_fan_in", "fan_in", ["downstream_id", "value", "flow_id"]),
  delete_fan_in: remove("delete_fan_in", "fan_in"),
  put_idempotency: upsert("put_idempotency", "idempotency", ["key"]),
  delete_idempotency: {
    sql: "DELETE FROM idempotency WHERE created_at < ?",
    encoders: encodersOf("delete_idempotency"),
    counted: null,
  },
  put_schedule: upsert("put_schedule", "schedules", ["id"]),
  delete_schedule: remove("delete_schedule", "schedules"),
  put_skip: upsert("put_skip", "skips", ["schedule_id", "fire"]),
  delete_skip: remove("delete_skip", "skips"),
  delete_skips: remove("delete_skips", "skips"),
  put_backfill: upsert("put_backfill", "backfills", ["id"]),
  put_clock: upsert("put_clock", "clock", ["id"]),
  set_run_creator: update("set_run_creator", "runs"),
  insert_step: insert("insert_step", "steps", " ON CONFLICT DO NOTHING"),
  put_wait: upsert("put_wait", "waits", ["id"]),
  settle_wait: update("settle_wait", "waits"),
  put_lineage: upsert("put_lineage", "lineages", ["id"]),
  put_park: upsert("put_park", "parks", ["run_id"]),
  delete_park: remove("delete_park", "parks"),
} as const satisfies Partial<Record<OperationName, RowOperation>>;

export type RowOperationName = keyof typeof ROW_OPERATIONS;

/** Statements of the operations that are merged within a commit (run-writer.ts). */
export const INSERT_RUN = insert("insert_run", "runs");
export const UPDATE_RUN = update("update_run", "runs");
export const SET_LINEAGE = update("set_lineage", "runs");
export const SET_TRACEPARENT = update("set_traceparent", "runs");
export const PUT_TASK_RUN = upsert("put_task_run", "task_runs", ["id"]);

/** Columns set when a run ends; most indexes cover only ended runs. */
const ENDING: readonly ColumnOf<"update_run">[] = ["end_time", "total_run_time"];

const UPDATE_WITHOUT_ENDING = update(
  "update_run",
  "runs",
  COLUMNS.update_run.filter((column) => !ENDING.includes(column)),
);

/**
 * The same update for a run that has not ended: without the ending columns, so that SQLite has no index to rewrite. Changes
 * no row when the stored run has ended (a revived run); then UPDATE_RUN is needed.
 */
export const UPDATE_LIVING_RUN: RowOperation = {
  ...UPDATE_WITHOUT_ENDING,
  sql: `${UPDATE_WITHOUT_ENDING.sql} AND end_time IS NULL`,
};

/** The same for a run whose ending columns are stored already. Changes no row when they differ; then UPDATE_RUN is needed. */
export const UPDATE_ENDED_RUN: RowOperation = {
  ...UPDATE_WITHOUT_ENDING,
  sql: `${UPDATE_WITHOUT_ENDING.sql} AND ${ENDING.map((column) => `${column} IS ?`).join(" AND ")}`,
  encoders: [...UPDATE_WITHOUT_ENDING.encoders, ...encodersOf("update_run", ENDING)],
};
