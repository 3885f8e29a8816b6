/**
 * What must hold for durable runs: a run that waits without an engine is going to be woken, and nothing is kept for lineages
 * that are gone.
 *
 * SQLite only: json_each (= ANY of an array).
 */
import { findRows, type Invariant } from "./invariant.ts";

const HELD_WHILE_PARKED = `SELECT p.run_id FROM parks p LEFT JOIN runs r ON r.id = p.run_id
  WHERE p.parked = 1 AND (r.id IS NULL OR r.end_time IS NOT NULL OR r.assigned = 1)`;

const WAITS_WITHOUT_PARK = `SELECT r.id, r.state_name FROM runs r WHERE r.end_time IS NULL
  AND r.state_name IN ('Sleeping', 'AwaitingEvent', 'AwaitingChild')
  AND NOT EXISTS (SELECT 1 FROM parks p WHERE p.run_id = r.id AND p.parked = 1)`;

const PARKED_FOR_NOTHING = `SELECT p.run_id, j.value FROM parks p, json_each(coalesce(p.waits, '[]')) j
  WHERE p.parked = 1 AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.id = j.value AND w.settled_at IS NULL)`;

/** A lineage goes on while a run of it has not ended, or is to be run again. */
const LIVES = (lineage: string): string => `EXISTS (SELECT 1 FROM runs r WHERE r.lineage_id = ${lineage}
  AND (r.end_time IS NULL OR EXISTS (SELECT 1 FROM reruns n WHERE n.run_id = r.id)))`;

const OPEN_AFTER_END = `SELECT id, lineage_id FROM waits WHERE settled_at IS NULL AND NOT ${LIVES("waits.lineage_id")}`;

const CHILD_HAS_ENDED = `SELECT id, child_lineage_id FROM waits WHERE settled_at IS NULL AND child_lineage_id IS NOT NULL
  AND NOT ${LIVES("waits.child_lineage_id")}`;

const OF_NO_RUN = `SELECT DISTINCT lineage_id FROM steps WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.lineage_id = steps.lineage_id)
  AND NOT EXISTS (SELECT 1 FROM lineages l WHERE l.origin_id = steps.lineage_id)`;

export const PARKED_RUNS_WAKE: Invariant = {
  id: "I13",
  title: "a run that waits without an engine is woken by an open wait or a time, and steps and waits go with their runs",
  unchecked: "that no acknowledged result of a step is computed again",
  check: (statements) => [
    ...findRows<[number]>(statements, HELD_WHILE_PARKED, ([run]) => `run ${run} is parked, but has ended or is with an engine`),
    ...findRows<[number, string]>(statements, WAITS_WITHOUT_PARK, ([run, name]) => `run ${run} is ${name} and not parked`),
    ...findRows<[number, number]>(
      statements,
      PARKED_FOR_NOTHING,
      ([run, wait]) => `run ${run} is parked for wait ${wait}, which is not open`,
    ),
    ...findRows<[number, number]>(
      statements,
      OPEN_AFTER_END,
      ([wait, lineage]) => `wait ${wait} is open, but lineage ${lineage} has ended`,
    ),
    ...findRows<[number, number]>(
      statements,
      CHILD_HAS_ENDED,
      ([wait, lineage]) => `wait ${wait} is open, but its child of lineage ${lineage} has ended`,
    ),
    ...findRows<[number]>(statements, OF_NO_RUN, ([lineage]) => `steps of lineage ${lineage} belong to no run`),
  ],
};
