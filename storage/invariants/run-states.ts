/**
 * I2 and I3: the state of a run agrees with its events and times, and at most one engine holds the run.
 *
 * SQLite only: group_concat (string_agg).
 */
import { ENDED_CODES, STRETCH_IDS, stateCode, stateType } from "../schema/codes.ts";
import { findRows, type Invariant } from "./invariant.ts";

const ENDED = ENDED_CODES.join(", ");
const PAUSED = stateCode("Paused");
const CANCELLING = stateCode("Cancelling");

/** Names of states that record no event. */
const SILENT_NAMES = "('AwaitingRetry', 'AwaitingResource', 'Sleeping', 'AwaitingEvent', 'AwaitingChild')";

/** The newest event about a run's own state. */
const NEWEST_EVENT = `SELECT max(e.id) FROM events e
  WHERE e.run_id = r.id AND e.task_run_id IS NULL AND e.state_type IS NOT NULL`;

/**
 * Retention deletes by age, so after a clock step stretches with lower ids may survive. Before the last such hole, the newest
 * events of a run may be missing.
 */
const AFTER_LAST_HOLE = `SELECT coalesce(max(stretch), 0) * ${STRETCH_IDS} FROM
  (SELECT stretch, lag(stretch) OVER (ORDER BY stretch) AS previous FROM event_times) AS pairs WHERE previous < stretch - 1`;

const DISAGREEING = `SELECT r.id, r.state_type, r.state_name, e.state_type, e.state_name FROM runs r JOIN events e ON e.id = (${NEWEST_EVENT})
  WHERE r.state_type <> ${CANCELLING} AND coalesce(r.state_name, '') NOT IN ${SILENT_NAMES}
    AND e.id >= (${AFTER_LAST_HOLE}) AND (e.state_type <> r.state_type
      OR coalesce(e.state_name, '') <> coalesce(r.state_name, '') OR e.occurred <> r.state_timestamp)`;

const WRONG_END = `SELECT id, state_type FROM runs WHERE (state_type IN (${ENDED})) <> (end_time IS NOT NULL)`;

const HELD_AFTER_END = `SELECT id, state_type, assignment_id FROM runs
  WHERE assigned = 1 AND (assignment_id IS NULL OR state_type IN (${ENDED}, ${PAUSED}) OR engine_id IS NULL)`;

const LEASES_AFTER_END = `SELECT l.id, r.id, r.state_type FROM leases l JOIN runs r ON r.id = l.run_id
  WHERE r.state_type IN (${ENDED}, ${PAUSED}) AND NOT EXISTS (SELECT 1 FROM parks p WHERE p.run_id = r.id AND p.holds = 1 AND p.parked = 1)`;

const SHARED_ASSIGNMENTS = `SELECT assignment_id, group_concat('' || id, ', ' ORDER BY id) FROM runs WHERE assignment_id IS NOT NULL
  GROUP BY assignment_id HAVING count(*) > 1`;

export const ENDS_STAY: Invariant = {
  id: "I2",
  title: "a state that ends a run never changes without force; the state of each run is that of its newest event",
  unchecked: "old events do not say which moves were forced",
  check: (statements) => [
    ...findRows<[number, number, string | null, number, string | null]>(
      statements,
      DISAGREEING,
      ([id, type, name, eventType, eventName]) =>
        `run ${id} is ${name ?? stateType(type)}, but its newest event says ${eventName ?? stateType(eventType)}`,
    ),
    ...findRows<[number, number]>(
      statements,
      WRONG_END,
      ([id, type]) => `run ${id} is ${stateType(type)} and ${ENDED_CODES.includes(type) ? "has no end time" : "has an end time"}`,
    ),
  ],
};

export const ONE_HOLDER: Invariant = {
  id: "I3",
  title: "at most one engine holds a run, and none holds one that has ended or is paused",
  unchecked: "what engines do with the runs they hold",
  check: (statements) => [
    ...findRows<[number, number, number]>(
      statements,
      HELD_AFTER_END,
      ([id, type, assignment]) => `run ${id} is ${stateType(type)} and still assigned (${assignment})`,
    ),
    ...findRows<[number, number, number]>(
      statements,
      LEASES_AFTER_END,
      ([lease, run, type]) => `lease ${lease} is held by run ${run}, which is ${stateType(type)}`,
    ),
    ...findRows<[number, string]>(
      statements,
      SHARED_ASSIGNMENTS,
      ([assignment, runs]) => `assignment ${assignment} was given to runs ${runs}`,
    ),
  ],
};
