/** Chains of rules: what a rule makes, or what follows from that, knows how many rules led to it, so that a ring of rules ends. */
import { putOperation } from "#storage/ops";
import type { Run } from "../live-state/run.ts";
import type { Turn } from "../turn.ts";

/** The run belongs to the chain of what is happening, and to that of a run it follows from. */
export function continueChain(turn: Turn, run: Run, followed: Run | null = null): void {
  const { chains } = turn.state.rules;
  const before = chains.find((followed ?? run).id) ?? 0;
  const depth = Math.max(turn.ruleDepth, before);
  if (depth === 0 || (followed === null && depth === before)) return;
  chains.put(run.id, depth, turn.number);
  putOperation(turn.decision.ops, "put_chain", run.id, depth);
}
