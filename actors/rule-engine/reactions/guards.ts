/** Guards: conditions that keep a matching rule from firing. Their state is stored with the firing. */
import type { Rule, RuleBook } from "../../core/state/rule.ts";

/** The window of max_per_minute. */
const RATE_WINDOW_SECONDS = 60;
const SECOND_US = 1_000_000;

/** The guard that holds back the rule, or null. */
export function suppressedBy(
  book: RuleBook,
  rule: Rule,
  event: { run_id: number | null; created_by: string | null },
  nowUs: number,
): "disabled" | "self" | "once" | "cooldown" | "rate" | null {
  const { spec } = rule;
  if (!rule.enabled) return "disabled";
  if (!spec.allow_self && event.created_by === `rule:${rule.id}`) return "self";
  const { run_id } = event;
  if (spec.once === "per_run" && run_id !== null && book.fired.find({ rule_id: rule.id, run_id }) !== null) return "once";
  if (spec.cooldown_seconds > 0 && rule.last_fired !== null) {
    // A last firing in the future was recorded before the clock was set back.
    const sinceUs = nowUs - rule.last_fired;
    if (sinceUs >= 0 && sinceUs < spec.cooldown_seconds * SECOND_US) return "cooldown";
  }
  if (spec.max_per_minute > 0 && firedLately(rule, nowUs) >= spec.max_per_minute) return "rate";
  return null;
}

function firedLately(rule: Rule, nowUs: number): number {
  const second = Math.floor(nowUs / SECOND_US);
  return rule.guards.seconds
    .filter(([at]) => at > second - RATE_WINDOW_SECONDS && at <= second)
    .reduce((sum, [, count]) => sum + count, 0);
}

/** Records a firing; returns whether the guard state has to be stored. */
export function noteFiring(rule: Rule, nowUs: number): boolean {
  if (rule.spec.max_per_minute <= 0) return false;
  const second = Math.floor(nowUs / SECOND_US);
  const kept = rule.guards.seconds.filter(([at]) => at > second - RATE_WINDOW_SECONDS && at <= second);
  const last = kept.at(-1);
  if (last !== undefined && last[0] === second) last[1] += 1;
  else kept.push([second, 1]);
  rule.guards.seconds = kept;
  return true;
}
