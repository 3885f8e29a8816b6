/**
 * The parts of a commit: each is a statement that changes the rows of one table from rows of values. A part touches a row once at
 * most, because a statement sees the rows as they were before it.
 */
import { STRETCH_KIND } from "../schema/codes.ts";
import type { ColumnKind, Columns } from "../write/columns.ts";
import { COLUMNS, OPERATIONS, type OperationName } from "../write/ops.ts";
import { type PostgresType, postgresType } from "./columns.ts";

interface PartColumn {
  readonly name: string;
  readonly type: PostgresType;
}

export interface Part {
  readonly columns: readonly PartColumn[];
  /** The statement; `rows` is a query of the rows of values, `count` their number. */
  text(rows: string, count: string): string;
}

function columnsOf(name: OperationName): PartColumn[] {
  return COLUMNS[name].map((column) => ({ name: column, type: postgresType(kindOf(name, column)) }));
}

function kindOf(name: OperationName, column: string): ColumnKind {
  const columns: Columns = OPERATIONS[name];
  const found = columns[column];
  if (found === undefined) throw new Error(`${name} has no column ${column}`);
  return found.kind;
}

const list = (columns: readonly PartColumn[], prefix = "") => columns.map(({ name }) => prefix + name).join(", ");

/** Inserts rows; `conflict` is what follows for existing rows. */
function insert(table: string, columns: readonly PartColumn[], conflict = ""): Part {
  return { columns, text: (rows) => `INSERT INTO ${table} AS t (${list(columns)}) ${rows}${conflict}` };
}

/** Columns of keys whose texts have no bound: their tables have an index of a key instead (migrations/0003-bounded-keys.ts). */
const UNBOUNDED: ReadonlySet<string> = new Set(["engines.id", "fan_in.value", "settings.name"]);

/** Inserts rows, or replaces the other columns of the rows that have this key. */
export function put(operation: OperationName, table: string, key: readonly string[]): Part {
  const columns = columnsOf(operation);
  const indexed = key.map((column) => (UNBOUNDED.has(`${table}.${column}`) ? `index_key(${column})` : column));
  const rest = columns.filter(({ name }) => !key.includes(name)).map(({ name }) => `${name} = excluded.${name}`);
  return insert(table, columns, ` ON CONFLICT (${indexed.join(", ")}) DO UPDATE SET ${rest.join(", ")}`);
}

/** Inserts the rows that do not exist. */
export function putFirst(operation: OperationName, table: string): Part {
  return insert(table, columnsOf(operation), " ON CONFLICT DO NOTHING");
}

/** Deletes the rows with these keys. */
export function remove(operation: OperationName, table: string): Part {
  const columns = columnsOf(operation);
  const same = columns
    .map(({ name }) =>
      UNBOUNDED.has(`${table}.${name}`) ? `index_key(t.${name}) = index_key(u.${name})` : `t.${name} = u.${name}`,
    )
    .join(" AND ");
  return { columns, text: (rows) => `DELETE FROM ${table} t USING (${rows}) u WHERE ${same}` };
}

/** Updates the rows with these ids. */
export function update(operation: OperationName, table: string): Part {
  const columns = columnsOf(operation);
  return { columns, text: (rows) => updateText(columns, table, rows) };
}

/** Updates the rows with these ids; the statement fails unless each is stored. */
function updateStored(columns: readonly PartColumn[], table: string): Part {
  const text = (rows: string, count: string) =>
    `WITH changed AS (${updateText(columns, table, rows)} RETURNING 1) ${countedCheck(count)}`;
  return { columns, text };
}

function updateText(columns: readonly PartColumn[], table: string, rows: string): string {
  const rest = columns.filter(({ name }) => name !== "id").map(({ name }) => `${name} = ${newValue(name)}`);
  return `UPDATE ${table} t SET ${rest.join(", ")} FROM (${rows}) u WHERE t.id = u.id`;
}

/** Fails unless so many rows were changed. */
function countedCheck(count: string): string {
  return `SELECT 1 / ((SELECT count(*) FROM changed) = ${count})::int`;
}

const LINEAGE: readonly PartColumn[] = [
  { name: "lineage_id", type: "int8" },
  { name: "caller_run_id", type: "int8" },
];

/** The value of a column of a run or other row after an update. */
function newValue(column: string): string {
  // Marks are appended, so that the core need not keep those that are stored.
  if (column === "marks") return "concat(t.marks, u.marks)";
  // A run gets its lineage once; most updates do not carry it.
  return LINEAGE.some(({ name }) => name === column) ? `coalesce(u.${column}, t.${column})` : `u.${column}`;
}

const RUN_COLUMNS = [...columnsOf("insert_run"), ...LINEAGE, ...columnsOf("set_traceparent").filter(({ name }) => name !== "id")];
const CHANGED_COLUMNS = [...columnsOf("update_run"), ...LINEAGE];

/** Moves rows of runs from one table to the other, with a new state. */
function moveRun(from: string, to: string): Part {
  const changed = CHANGED_COLUMNS.map(({ name }) => name).filter((name) => name !== "id");
  const values = RUN_COLUMNS.map(({ name }) => (changed.includes(name) ? `${newValue(name)} AS ${name}` : `t.${name}`));
  const text = (rows: string, count: string) =>
    `WITH changed AS (DELETE FROM ${from} t USING (${rows}) u WHERE t.id = u.id RETURNING ${values.join(", ")}),
      moved AS (INSERT INTO ${to} (${list(RUN_COLUMNS)}) SELECT ${list(RUN_COLUMNS)} FROM changed) ${countedCheck(count)}`;
  return { columns: CHANGED_COLUMNS, text };
}

/** Column name and type of a table whose rows the writer makes. */
function columns(...pairs: readonly `${string} ${PostgresType}`[]): PartColumn[] {
  return pairs.map((pair) => {
    const [name = "", type] = pair.split(" ");
    return { name, type: type as PostgresType };
  });
}

/** The rows of runs. */
export const RUN_PARTS = {
  inserted: insert("live_runs", RUN_COLUMNS),
  insertedEnded: insert("ended_runs", RUN_COLUMNS),
  moved: updateStored(CHANGED_COLUMNS, "live_runs"),
  ended: moveRun("live_runs", "ended_runs"),
  /** An engine reports once more after the end of its run. */
  endedBefore: updateStored(CHANGED_COLUMNS, "ended_runs"),
  revived: moveRun("ended_runs", "live_runs"),
  lineage: updateStored(columnsOf("set_lineage"), "live_runs"),
  // For runs whose insert is in an earlier step or commit.
  lineageEnded: update("set_lineage", "ended_runs"),
  traceparent: update("set_traceparent", "live_runs"),
  traceparentEnded: update("set_traceparent", "ended_runs"),
  creator: update("set_run_creator", "live_runs"),
  creatorEnded: update("set_run_creator", "ended_runs"),
} as const;

/** The coarse index by flow of task runs whose run ended long ago, and may have been revived since. */
const TASK_FLOWS: Part = {
  columns: columns("run_id int8", "stretch int8"),
  text: (rows) => `INSERT INTO stretches (kind, value, stretch) SELECT ${STRETCH_KIND.task_flow}, r.flow_id, u.stretch
    FROM (${rows}) u CROSS JOIN LATERAL (SELECT flow_id FROM live_runs WHERE id = u.run_id
      UNION ALL SELECT flow_id FROM ended_runs WHERE id = u.run_id) r ON CONFLICT DO NOTHING`,
};

const ADDED = "DO UPDATE SET count = t.count + excluded.count";

/** Rows that follow from others: events, log blocks, indexes by stretches, counts. */
export const WRITER_PARTS = {
  names: insert("names", columns("id int8", "name text")),
  events: insert("events", [
    ...columns("id int8", "name int8"),
    ...columnsOf("insert_event").filter(({ name }) => name !== "name"),
    ...columns("resource_kind text", "resource_id text"),
  ]),
  eventChains: insert("event_chains", columns("event_id int8", "depth int8")),
  logBlocks: insert(
    "log_blocks",
    columns("id int8", "run_id int8", "attempt int8", "count int8", "level_mask int8", "packed int2", "lines bytea"),
  ),
  runTags: insert("run_tags", columns("tag int8", "run_id int8"), " ON CONFLICT DO NOTHING"),
  quarantine: insert("quarantine", columnsOf("insert_quarantine")),
  stretches: insert("stretches", columns("kind int8", "value int8", "stretch int8"), " ON CONFLICT DO NOTHING"),
  taskFlows: TASK_FLOWS,
  runTimes: insert(
    "run_times",
    columns("stretch int8", "start_min int8", "start_max int8"),
    ` ON CONFLICT (stretch) DO UPDATE SET start_min = least(t.start_min, excluded.start_min),
      start_max = greatest(t.start_max, excluded.start_max)`,
  ),
  eventTimes: insert(
    "event_times",
    columns("stretch int8", "occurred_min int8", "occurred_max int8", "received_max int8", "log_id int8"),
    ` ON CONFLICT (stretch) DO UPDATE SET occurred_min = least(t.occurred_min, excluded.occurred_min),
      occurred_max = greatest(t.occurred_max, excluded.occurred_max),
      received_max = greatest(t.received_max, excluded.received_max), log_id = excluded.log_id`,
  ),
  counts: insert(
    "counts",
    columns("flow_id int8", "kind int8", "state_type int2", "count int8"),
    ` ON CONFLICT (flow_id, kind, state_type) ${ADDED}`,
  ),
  endedCounts: insert(
    "ended_counts",
    columns("hour int8", "flow_id int8", "task_name text", "state_type int2", "duration_class int8", "count int8"),
    ` ON CONFLICT (hour, flow_id, index_key(task_name), state_type, duration_class) ${ADDED}`,
  ),
  endedQuarters: insert(
    "ended_quarters",
    columns("quarter int8", "state_name text", "count int8"),
    ` ON CONFLICT (quarter, state_name) ${ADDED}`,
  ),
} as const;

interface Fold {
  readonly table: string;
  readonly part: Part;
  /** For rows that are certainly new: an insert without a clause for conflicts costs less. */
  readonly inserted?: Part;
  /** Positions of the key among the values. */
  readonly key: readonly number[];
  /** Whether the first row of a key stays. */
  readonly first: boolean;
}

function fold(operation: OperationName, table: string, key: readonly string[], part: Part, first = false): Fold {
  return { table, part, first, key: key.map((column) => (COLUMNS[operation] as readonly string[]).indexOf(column)) };
}

const puts = (operation: OperationName, table: string, key: readonly string[] = ["id"]) => ({
  ...fold(operation, table, key, put(operation, table, key)),
  inserted: insert(table, columnsOf(operation)),
});
const removes = (operation: OperationName, table: string, key: readonly string[] = ["id"]) =>
  fold(operation, table, key, remove(operation, table));
const firsts = (operation: OperationName, table: string, key: readonly string[]) =>
  fold(operation, table, key, putFirst(operation, table), true);

/** Operations on one row that replace what the same commit did to the row before. */
export const FOLDS: Readonly<Partial<Record<OperationName, Fold>>> = {
  insert_flow: puts("insert_flow", "flows"),
  put_task_run: puts("put_task_run", "task_runs"),
  put_artifact: puts("put_artifact", "artifacts"),
  insert_lease: puts("insert_lease", "leases"),
  delete_lease: removes("delete_lease", "leases"),
  insert_answer: puts("insert_answer", "answers", ["run_id", "ordinal"]),
  put_variable: puts("put_variable", "variables", ["name"]),
  delete_variable: removes("delete_variable", "variables", ["name"]),
  put_setting: puts("put_setting", "settings", ["name"]),
  put_rule: puts("put_rule", "rules"),
  delete_rule: removes("delete_rule", "rules"),
  put_guards: puts("put_guards", "rule_guards", ["rule_id"]),
  delete_guards: removes("delete_guards", "rule_guards", ["rule_id"]),
  put_fired: firsts("put_fired", "fired", ["run_id", "rule_id"]),
  put_firing: puts("put_firing", "firings"),
  put_expectation: puts("put_expectation", "expectations"),
  put_outbound: puts("put_outbound", "outbound"),
  delete_outbound: removes("delete_outbound", "outbound"),
  put_cursor: puts("put_cursor", "cursors", ["name"]),
  put_chain: puts("put_chain", "chains", ["run_id"]),
  put_engine: puts("put_engine", "engines"),
  delete_engine: removes("delete_engine", "engines"),
  put_rerun: puts("put_rerun", "reruns", ["run_id"]),
  delete_rerun: removes("delete_rerun", "reruns", ["run_id"]),
  put_fan_in: puts("put_fan_in", "fan_in", ["downstream_id", "value", "flow_id"]),
  delete_fan_in: removes("delete_fan_in", "fan_in", ["downstream_id", "value", "flow_id"]),
  put_idempotency: puts("put_idempotency", "idempotency", ["key"]),
  put_schedule: puts("put_schedule", "schedules"),
  delete_schedule: removes("delete_schedule", "schedules"),
  put_skip: puts("put_skip", "skips", ["schedule_id", "fire"]),
  delete_skip: removes("delete_skip", "skips", ["schedule_id", "fire"]),
  put_backfill: puts("put_backfill", "backfills"),
  put_clock: puts("put_clock", "clock"),
  insert_step: firsts("insert_step", "steps", ["lineage_id", "identity"]),
  put_wait: puts("put_wait", "waits"),
  put_lineage: puts("put_lineage", "lineages"),
  put_park: puts("put_park", "parks", ["run_id"]),
  delete_park: removes("delete_park", "parks", ["run_id"]),
};

/** Deletes the rows that one column names or, with `<`, those before it. */
function removeSet(operation: OperationName, table: string, column: string, comparison: "=" | "<" = "="): SetRemoval {
  const text = (rows: string) => `DELETE FROM ${table} t USING (${rows}) u WHERE t.${column} ${comparison} u.${column}`;
  return { table, part: { columns: columnsOf(operation), text } };
}

interface SetRemoval {
  readonly table: string;
  readonly part: Part;
}

/** Operations that delete the rows they find: what the commit did to the table before is written before. */
export const SET_REMOVALS: Readonly<Partial<Record<OperationName, SetRemoval>>> = {
  delete_answers: removeSet("delete_answers", "answers", "run_id"),
  delete_skips: removeSet("delete_skips", "skips", "schedule_id"),
  delete_idempotency: removeSet("delete_idempotency", "idempotency", "created_at", "<"),
};

/** Operations that change some columns of a row, and the operation that puts the whole row. */
export const UPDATES: Readonly<Partial<Record<OperationName, Fold & { readonly whole: OperationName }>>> = {
  update_flow: { ...fold("update_flow", "flows", ["id"], update("update_flow", "flows")), whole: "insert_flow" },
  fire_rule: { ...fold("fire_rule", "rules", ["id"], update("fire_rule", "rules")), whole: "put_rule" },
  settle_wait: { ...fold("settle_wait", "waits", ["id"], update("settle_wait", "waits")), whole: "put_wait" },
};
