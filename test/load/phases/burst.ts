/** A backlog while every engine is busy, then its drain: how fast runs are accepted, and how fast a full queue empties. */
import { figure, latencyFigures } from "../figure.ts";
import { HoldGate } from "../hold-gate.ts";
import { LoadFailed } from "../load-failed.ts";
import { chartsOf, costFigures, openWindow } from "../window.ts";
import { DRAIN_LIMIT_MS, failureNotes, type PhaseContext, type PhaseResult } from "./phase.ts";

/** Limits both halves on a slow server: then fewer runs are accepted, or the drain fails. */
const ACCEPT_LIMIT_MS = 60_000;
const DRAIN_BURST_LIMIT_MS = 300_000;

export async function burstPhase(context: PhaseContext): Promise<PhaseResult> {
  const { fleet, options } = context;
  const gate = new HoldGate(fleet.size.engines);
  fleet.duty = (held) => gate.hold(held);
  try {
    const { engines } = fleet.size;
    await fleet.create({ runsMax: engines, inFlight: engines });
    await gate.allHeld(DRAIN_LIMIT_MS);
    fleet.duty = null;
    const closeAccept = openWindow(context, ({ create }) => create.count);
    const limit = setTimeout(() => fleet.stopCreating(), ACCEPT_LIMIT_MS);
    await fleet.create({ runsMax: options.burst, inFlight: Number.POSITIVE_INFINITY });
    clearTimeout(limit);
    const accept = closeAccept();
    const backlog = accept.recorder.create.count;
    const closeDrain = openWindow(context);
    gate.release();
    if (!(await fleet.until(() => fleet.inFlight === 0, DRAIN_BURST_LIMIT_MS))) throw new LoadFailed("the backlog did not drain");
    const drain = closeDrain();
    return {
      figures: [
        ...figure("backlog", "runs", backlog),
        ...costFigures(accept, "create", backlog),
        ...latencyFigures("create", accept.recorder.create),
        ...costFigures(drain, "drained run", drain.recorder.completed),
        ...latencyFigures("transition in drain", drain.recorder.transition),
      ],
      notes: failureNotes([...accept.recorder.errors, ...drain.recorder.errors]),
      ...chartsOf(drain),
    };
  } finally {
    fleet.duty = null;
    gate.release();
  }
}
