/**
 * I5: one run per fire, and no run of a skipped fire given to an engine.
 *
 * SQLite only: NOT INDEXED (nothing: plans are pinned for a connection).
 */
import { findRows, type Invariant } from "./invariant.ts";

const TWO_RUNS = `SELECT schedule_id, scheduled_time, count(*) FROM runs NOT INDEXED
  WHERE schedule_id IS NOT NULL AND scheduled_time IS NOT NULL GROUP BY schedule_id, scheduled_time HAVING count(*) > 1`;

/**
 * A skip is stored until its fire is decided, and no engine gets the run before that; a person may force a run into any
 * state.
 */
const SKIPPED_AND_RUN = `SELECT k.schedule_id, r.id FROM skips k
  JOIN runs r ON r.schedule_id = k.schedule_id AND r.scheduled_time = k.fire WHERE r.engine_id IS NOT NULL`;

export const ONE_RUN_PER_FIRE: Invariant = {
  id: "I5",
  title: "one run per schedule and fire; a skipped fire never runs",
  unchecked: null,
  check: (statements) => [
    ...findRows<[number, number, number]>(
      statements,
      TWO_RUNS,
      ([schedule, fire, count]) => `schedule ${schedule} has ${count} runs for the fire at ${fire}`,
    ),
    ...findRows<[number, number]>(
      statements,
      SKIPPED_AND_RUN,
      ([schedule, run]) => `run ${run} started although its fire of schedule ${schedule} is skipped`,
    ),
  ],
};
