/** Waits for events: an event after the first start of a lineage settles at most one of its waits, the oldest first. */
import { type AwaitedEvent, isAwaited } from "../../core/state/awaited-event.ts";
import type { StoredWait } from "../../core/state/durable.ts";
import type { Turn } from "../../core/turn.ts";
import type { LookedBack } from "../../rule-engine/rule-messages.ts";
import { settleWait } from "./settle.ts";

/** An event was committed. */
export function settleByEvent(turn: Turn, event: AwaitedEvent): void {
  const { durable, parked } = turn.state;
  const first = new Map<number, StoredWait>();
  for (const wait of durable.waitsFor(event.name)) {
    if (first.has(wait.lineage_id) || !isAwaited(durable.filterOf(wait), event)) continue;
    if (durable.isCandidate(wait, event)) first.set(wait.lineage_id, wait);
  }
  parked.recallLineages([...first.keys()]);
  for (const wait of first.values()) settle(turn, wait, event);
}

/** The event before a wait was armed that settles the wait is known. Has it settled another wait since, the search begins again. */
export function lookedBack(turn: Turn, { wait_id, event }: LookedBack): void {
  const { durable } = turn.state;
  const wait = durable.openWait(wait_id);
  if (wait !== undefined && event !== null && durable.hasUsed(wait.lineage_id, event.id))
    return void durable.lookBacks.set(wait_id, turn.number);
  durable.lookBacks.delete(wait_id);
  if (wait !== undefined && event !== null) settle(turn, wait, event);
}

function settle(turn: Turn, wait: StoredWait, { id, name, occurred, payload, run_id }: AwaitedEvent): void {
  settleWait(turn, wait, { kind: "event", event: { id, name, occurred, payload, run_id } }, id);
}
