/** Which resource a run lacks, for its start or for a lease of its code, and why in words. */
import type { LiveState } from "../../core/state/live-state.ts";
import { priorityOf, type Run } from "../../core/state/run.ts";
import { blockingOf, reservingRun } from "./reservation.ts";

export interface Lack {
  resource: string;
  text: string;
  /** Whether more is needed than there is in total, so that no release can serve the need. */
  unreachable: boolean;
}

type Needs = Record<string, number>;

interface Circumstances {
  /** The resource that is named if each resource is free by now. Default: the first by name. */
  blocking?: string;
  /** Whether earlier leases are waited for. */
  isBehind?: boolean;
}

export function lackOf(state: LiveState, run: Run, needs: Needs, { blocking, isBehind = false }: Circumstances = {}): Lack {
  const unreachable = state.ledger.unreachable(needs);
  const resource = unreachable ?? blockingOf(state, run, needs) ?? blocking ?? Object.keys(needs).sort()[0] ?? "";
  const before = isBehind ? ", and other leases are waited for before it" : "";
  const why =
    unreachable === null ? heldText(state, run, resource) + before : `, but the total is ${state.ledger.totalOf(resource)}`;
  return { resource, text: `it needs ${needs[resource] ?? 0} of ${resource}${why}`, unreachable: unreachable !== null };
}

function heldText(state: LiveState, run: Run, name: string): string {
  const { ledger } = state;
  const own = ledger.heldBy(run.id, name);
  const held = `; ${ledger.usedOf(name)} of ${ledger.totalOf(name)} are held${own === 0 ? "" : `, ${own} by the run itself`}`;
  const reserving = reservingRun(state, name, run, priorityOf(run));
  return reserving === null ? held : `${held}, and what becomes free is reserved for run ${reserving.id}, which waits longer`;
}
