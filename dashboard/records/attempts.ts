/** The attempts of a run that was tried again, as its engine reported them with the state; engines need not. */
import type { Run } from "#protocol/run";

/** Begin and end of each, microseconds; the end of the latest is null. */
export function attemptsOf(run: Run): readonly (readonly [fromUs: number, toUs: number | null])[] {
  const attempts: unknown = run.state.details?.["attempts"];
  if (!Array.isArray(attempts)) return [];
  return attempts.flatMap((pair: unknown) => {
    if (!Array.isArray(pair) || typeof pair[0] !== "number") return [];
    return [[pair[0], typeof pair[1] === "number" ? pair[1] : null] as const];
  });
}

/** How often the run was tried, this time included: `attempt` counts the tries before. */
export function triesOf(run: Run): number {
  return (run.attempt ?? 0) + 1;
}
