/** The attempts of a retried run. */
import type { Run } from "#protocol/records/run";

/** Number of attempts of the run, including this one: `attempt` counts the earlier ones. */
export function triesOf(run: Run): number {
  return (run.attempt ?? 0) + 1;
}
