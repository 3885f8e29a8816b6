/**
 * Engines whose thread of user code does not return to its event loop: code of one run holds it, and the other runs of the
 * engine wait. An engine says so in its exchanges, as long as it lasts.
 */
import type { Engine } from "../../core/state/engine.ts";
import { flowKey } from "../../core/state/flow.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";

/** A flow that computes blocks its engine with each run: one event a minute shows it. */
const EVENT_EVERY_US = 60_000_000;
/** Runs that one event names. */
const RUNS_NAMED_MAX = 100;

/** Notes what an exchange says about the thread; `seconds` is undefined while the thread works. */
export function noteBlocked(turn: Turn, engine: Engine, seconds: number | undefined): void {
  const was = engine.blockedSinceUs;
  engine.blockedSinceUs = seconds === undefined ? null : Math.round(turn.nowUs - seconds * 1e6);
  if (seconds === undefined || was !== null) return;
  const agoUs = turn.nowUs - engine.blockedEventUs;
  // An event in the future was recorded before the clock was set back.
  if (agoUs >= 0 && agoUs < EVENT_EVERY_US) return;
  engine.blockedEventUs = turn.nowUs;
  const runs = runningIn(engine);
  turn.events.given({
    name: "engine.blocked",
    run: null,
    flow_id: null,
    resource: { kind: "engine", id: engine.id, name: engine.key.module },
    related: runs.flatMap((run) => {
      const { external_id, name } = turn.state.textsOf(run);
      const { flow } = run;
      return [
        { kind: "run", id: external_id, name },
        { kind: "flow", id: flowKey(flow.project, flow.name), name: flow.name },
      ];
    }),
    payload: { engine: engine.id, module: engine.key.module, seconds, runs: runs.map(({ id }) => id) },
  });
}

/** The first runs that execute in an engine. */
function runningIn({ runs }: Engine): Run[] {
  return [...runs.values()].filter(({ state }) => state.type === "Running").slice(0, RUNS_NAMED_MAX);
}
