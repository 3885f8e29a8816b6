/**
 * The tables whose rows a move between stores takes along. Their columns are those of the store; where PostgreSQL has other
 * columns or tables than SQLite, this file states it.
 */
import { StorageError } from "../sqlite/storage-error.ts";
import type { Cell } from "./format.ts";

/** The value of a column of the row. */
type CellOf = (column: string) => Cell;

export interface MovedTable {
  readonly name: string;
  /** The primary key: rows are moved in its order. */
  readonly key: readonly string[];
  /** Columns of PostgreSQL alone, which follow from the others. */
  readonly derived?: Readonly<Record<string, (cellOf: CellOf) => Cell>>;
  /** Tables of PostgreSQL that hold the rows, and which of them a row belongs to; by its own name it is a view of them. */
  readonly split?: { readonly tables: readonly string[]; readonly tableOf: (cellOf: CellOf) => string };
}

/** A property of the resource that an event has itself. */
function ofResource(property: "kind" | "id"): (cellOf: CellOf) => Cell {
  return (cellOf) => {
    const resource = cellOf("resource");
    if (typeof resource !== "string") return null;
    const value = (JSON.parse(resource) as Record<string, unknown>)[property];
    return typeof value === "string" ? value : null;
  };
}

function table(name: string, ...key: string[]): MovedTable {
  return { name, key: key.length === 0 ? ["id"] : key };
}

export const MOVED_TABLES: readonly MovedTable[] = [
  table("settings", "name"),
  table("names"),
  table("flows"),
  {
    ...table("runs"),
    split: {
      tables: ["live_runs", "ended_runs"],
      tableOf: (cellOf) => (cellOf("end_time") === null ? "live_runs" : "ended_runs"),
    },
  },
  table("run_times", "stretch"),
  table("run_tags", "tag", "run_id"),
  table("task_runs"),
  { ...table("events"), derived: { resource_kind: ofResource("kind"), resource_id: ofResource("id") } },
  table("stretches", "kind", "value", "stretch"),
  table("event_times", "stretch"),
  { ...table("log_blocks"), derived: { packed: (cellOf) => (typeof cellOf("lines") === "string" ? 0 : 1) } },
  table("artifacts"),
  table("leases"),
  table("answers", "run_id", "ordinal"),
  table("engines"),
  table("reruns", "run_id"),
  table("counts", "flow_id", "kind", "state_type"),
  table("variables", "name"),
  table("schedules"),
  table("skips", "schedule_id", "fire"),
  table("backfills"),
  table("rules"),
  table("rule_guards", "rule_id"),
  table("firings"),
  table("fired", "run_id", "rule_id"),
  table("expectations"),
  table("outbound"),
  table("chains", "run_id"),
  table("event_chains", "event_id"),
  table("cursors", "name"),
  table("quarantine"),
  table("ended_counts", "hour", "flow_id", "task_name", "state_type", "duration_class"),
  table("ended_quarters", "quarter", "state_name"),
  table("fan_in", "downstream_id", "value", "flow_id"),
  table("idempotency", "key"),
  table("clock"),
  table("steps"),
  table("waits"),
  table("lineages"),
  table("parks", "run_id"),
];

/** What a store knows of itself: its version; its owner and the highest ids, which the first line of an export holds. */
export const UNMOVED_TABLES: readonly string[] = ["migrations", "members", "counters"];

export function movedTable(name: string): MovedTable {
  const found = MOVED_TABLES.find((each) => each.name === name);
  if (found === undefined) throw new StorageError("operation", `no table ${name} is moved`);
  return found;
}
