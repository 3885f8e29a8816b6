/**
 * Chains of rules: whatever a rule creates, directly or indirectly, carries the number of rules that led to it, so that a
 * cycle of rules ends.
 */
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

/** Adds the run to the chain of the current step, and to the chain of a run that it follows from. */
export function continueChain(turn: Turn, run: Run, followed: Run | null = null): void {
  const { chains } = turn.state.rules;
  const before = chains.find((followed ?? run).id) ?? 0;
  const depth = Math.max(turn.ruleDepth, before);
  if (depth === 0 || (followed === null && depth === before)) return;
  chains.put(run.id, depth, turn.number);
  turn.rows.put("put_chain", { run_id: run.id, depth });
}
