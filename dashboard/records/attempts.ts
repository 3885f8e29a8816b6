/** The attempts of a retried run, as its engine reported them with the state; engines may omit them. */
import type { Run } from "#protocol/records/run";

/** Begin and end of each, microseconds; the end of the latest is null. */
export function attemptsOf(run: Run): readonly (readonly [fromUs: number, toUs: number | null])[] {
  const attempts: unknown = run.state.details?.["attempts"];
  if (!Array.isArray(attempts)) return [];
  return attempts.flatMap((pair: unknown) => {
    if (!Array.isArray(pair) || typeof pair[0] !== "number") return [];
    return [[pair[0], typeof pair[1] === "number" ? pair[1] : null] as const];
  });
}

/** Number of attempts of the run, including this one: `attempt` counts the earlier ones. */
export function triesOf(run: Run): number {
  return (run.attempt ?? 0) + 1;
}
