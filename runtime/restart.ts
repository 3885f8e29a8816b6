/** The supervisor's decision about a child that ended: a pure function, in OTP's words. */

export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";
/** permanent: always restarted; transient: only after a failure; temporary: never. */
export type RestartType = "permanent" | "transient" | "temporary";

export interface RestartPolicy {
  strategy: Strategy;
  /** More restarts within the period than this make the supervisor itself give up. */
  intensity: number;
  periodMs: number;
}

/** The first restart is immediate; the delay of each further restart within the period doubles, up to the maximum. */
export const BACKOFF_FIRST_MS = 10;
export const BACKOFF_MAX_MS = 1000;

export type RestartDecision =
  | { kind: "Ignore" }
  | { kind: "GiveUp" }
  | { kind: "Restart"; children: string[]; delayMs: number; restartsUs: number[] };

/**
 * What to do about the end of `child`. `children` are the supervisor's children in start order, `restartsUs` the times of
 * earlier restarts.
 */
export function decideRestart(
  policy: RestartPolicy,
  children: readonly string[],
  child: { name: string; restart: RestartType; failed: boolean },
  restartsUs: readonly number[],
  nowUs: number,
): RestartDecision {
  if (child.restart === "temporary" || (child.restart === "transient" && !child.failed)) return { kind: "Ignore" };
  const recent = restartsUs.filter((us) => nowUs - us < policy.periodMs * 1000);
  if (recent.length >= policy.intensity) return { kind: "GiveUp" };
  const delayMs = recent.length === 0 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (recent.length - 1));
  return {
    kind: "Restart",
    children: affectedBy(policy.strategy, children, child.name),
    delayMs,
    restartsUs: [...recent, nowUs],
  };
}

function affectedBy(strategy: Strategy, children: readonly string[], name: string): string[] {
  if (strategy === "one_for_one") return [name];
  if (strategy === "one_for_all") return [...children];
  return children.slice(children.indexOf(name));
}
