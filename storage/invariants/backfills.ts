/**
 * I8 and I9: a backfill is whole, and a fan-in happens once for each key.
 *
 * SQLite only: json_extract (a column that the writer fills).
 */
import { findRows, type Invariant } from "./invariant.ts";

/** Reruns after a crash have other creators and are not counted. */
const TOO_MANY = `SELECT b.id, b.total, count(*) AS found FROM backfills b
  JOIN runs r ON r.backfill_id = b.id AND r.created_by = 'backfill:' || b.id GROUP BY b.id HAVING count(*) > b.total`;

export const BACKFILLS_ARE_WHOLE: Invariant = {
  id: "I8",
  title: "a backfill has exactly as many runs as it says, or does not exist",
  unchecked: "runs that were deleted later are missing rightly",
  check: (statements) =>
    findRows<[number, number, number]>(
      statements,
      TOO_MANY,
      ([id, total, found]) => `backfill ${id} should have ${total} runs, there are ${found}`,
    ),
};

const FIRED_TWICE = `SELECT e.flow_id, json_extract(e.payload, '$."value"') AS value, count(*) FROM events e
  JOIN names n ON n.id = e.name AND n.name = 'flow.fan_in' JOIN runs r ON r.id = e.run_id
  GROUP BY e.flow_id, json_extract(e.payload, '$."key"'), value HAVING count(*) > 1`;

export const FAN_IN_ONCE: Invariant = {
  id: "I9",
  title: "a fan-in makes one run for each value of its key",
  unchecked: "it happens again for a value whose run was deleted",
  check: (statements) =>
    findRows<[number, unknown, number]>(
      statements,
      FIRED_TWICE,
      ([flow, value, count]) => `flow ${flow} was run ${count} times for the value ${JSON.stringify(value)}`,
      "unusual",
    ),
};
