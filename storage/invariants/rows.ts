/**
 * I1: nothing is lost. Rows have their owners, counts match a recount, ids stay below the counters.
 *
 * SQLite only: json_each (jsonb_each_text).
 */
import { STATE_TYPES } from "#protocol/records/state";
import { COUNTED, stateType } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { readCounters } from "../write/counters.ts";
import { type Finding, findRows, type Invariant, told } from "./invariant.ts";

/** Rows whose run or flow does not exist. */
const ORPHANS = [
  ["run", "runs", "flow_id", "flows"],
  ["task run", "task_runs", "run_id", "runs"],
  ["log block", "log_blocks", "run_id", "runs"],
  ["artifact", "artifacts", "run_id", "runs"],
  ["lease", "leases", "run_id", "runs"],
  ["schedule", "schedules", "flow_id", "flows"],
  ["backfill", "backfills", "flow_id", "flows"],
] as const;

const RECOUNT = `SELECT flow_id, 0 AS kind, state_type, count(*) AS count FROM runs GROUP BY flow_id, state_type
  UNION ALL SELECT runs.flow_id, 1, task_runs.state_type, count(*) FROM task_runs JOIN runs ON runs.id = task_runs.run_id
  GROUP BY runs.flow_id, task_runs.state_type`;

const WRONG_COUNTS = `WITH found AS (${RECOUNT})
  SELECT c.flow_id, c.kind, c.state_type, c.count, coalesce(f.count, 0) FROM counts c LEFT JOIN found f
    ON f.flow_id = c.flow_id AND f.kind = c.kind AND f.state_type = c.state_type WHERE c.count <> coalesce(f.count, 0)
  UNION ALL SELECT f.flow_id, f.kind, f.state_type, 0, f.count FROM found f WHERE NOT EXISTS
    (SELECT 1 FROM counts c WHERE c.flow_id = f.flow_id AND c.kind = f.kind AND c.state_type = f.state_type)`;

const TYPE_NAME = `CASE state_type ${STATE_TYPES.map((type, code) => `WHEN ${code} THEN '${type}'`).join(" ")} END`;

/** Runs whose counts of task runs differ from a recount. */
const WRONG_TASK_COUNTS = `WITH found AS (SELECT run_id, ${TYPE_NAME} AS type, count(*) AS count FROM task_runs GROUP BY run_id, type),
  stored AS (SELECT r.id AS run_id, c.key AS type, CAST(c.value AS BIGINT) AS count FROM runs r, json_each(r.task_counts) c)
  SELECT run_id FROM (SELECT * FROM stored EXCEPT SELECT * FROM found) AS only_stored
  UNION SELECT run_id FROM (SELECT * FROM found EXCEPT SELECT * FROM stored) AS only_found`;

/** Tables whose ids the counters follow; log lines are counted through their blocks, the stream has no table. */
const TABLE_OF_COUNTER: Readonly<Record<string, string>> = { logs: "log_blocks" };

export const NOTHING_IS_LOST: Invariant = {
  id: "I1",
  title: "a run that was answered 201 exists; rows have owners, counts agree with the rows, ids never return",
  unchecked: "which answers clients received is known to them alone",
  check: (statements) => [
    ...orphans(statements),
    ...wrongCounts(statements),
    ...wrongTaskCounts(statements),
    ...lowCounters(statements),
  ],
};

function orphans(statements: Statements): Finding[] {
  return ORPHANS.flatMap(([what, table, column, owner]) =>
    findRows<[number, number]>(
      statements,
      `SELECT t.id, t.${column} FROM ${table} t WHERE NOT EXISTS (SELECT 1 FROM ${owner} o WHERE o.id = t.${column})`,
      ([id, missing]) => `${what} ${id} belongs to ${owner.slice(0, -1)} ${missing}, which is not there`,
    ),
  );
}

function wrongCounts(statements: Statements): Finding[] {
  return findRows<[number, number, number, number, number]>(
    statements,
    WRONG_COUNTS,
    ([flow, kind, state, stored, found]) =>
      `flow ${flow} is said to have ${stored} ${kind === 0 ? "runs" : "task runs"} in state ${stateType(state)}, there are ${found}`,
  );
}

function wrongTaskCounts(statements: Statements): Finding[] {
  return findRows<[number]>(
    statements,
    WRONG_TASK_COUNTS,
    ([run]) => `run ${run} has task runs in other states than its counts say`,
  );
}

function lowCounters(statements: Statements): Finding[] {
  const counters = readCounters(statements);
  return told(
    COUNTED.filter((name) => name !== "stream").flatMap((name) => {
      const table = TABLE_OF_COUNTER[name] ?? name;
      const highest = statements.raw<[number | null]>(`SELECT max(id) FROM ${table}`).get()?.[0] ?? 0;
      return highest > counters[name] ? [`${table} has id ${highest}, but only ${counters[name]} were given`] : [];
    }),
  );
}
