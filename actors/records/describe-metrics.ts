/** The core's part of GET /metrics. Its cost follows the engines, resources and flows, never the runs. */
import { METRIC_ENGINES_MAX, METRIC_FLOWS_MAX } from "#protocol/limits";
import type { CoreFigures, EngineSlots } from "#protocol/wire/figures";
import type { Durations } from "#runtime/durations";
import type { LiveState } from "../core/state/live-state.ts";
import type { Turn } from "../core/turn.ts";
import type { Figures } from "./records.ts";
import type { ServerFacts } from "./server-info.ts";

/** The name under which engines without series of their own are summed. */
const OTHER = "other";

export function describeMetrics(
  { state }: Turn,
  facts: ServerFacts,
  { actors, threads }: Pick<Figures, "actors" | "threads">,
  commits: Durations,
): CoreFigures {
  const sizes = facts.storeSizes();
  const flows: CoreFigures["flows"] = [];
  for (const { id, project, name } of state.flows.values()) {
    if (flows.length === METRIC_FLOWS_MAX) break;
    flows.push([id, project, name]);
  }
  const { queueWait, dispatch, lateness } = state.durations;
  return {
    queue: state.queue.waitingByPlace,
    resources: state.ledger.list(),
    ...enginesOf(state),
    polls: state.queue.parked(),
    spans: state.spans,
    queue_wait: queueWait.figures(),
    dispatch: dispatch.figures(),
    lateness: lateness.figures(),
    commit: commits.figures(),
    actors,
    threads,
    database_bytes: sizes.database,
    wal_bytes: sizes.wal,
    flows,
  };
}

function enginesOf({ engines: all }: LiveState): Pick<CoreFigures, "engines" | "engine_slots"> {
  const engines = { count: 0, busy: 0, runs: 0 };
  const other: EngineSlots = { engine: OTHER, busy: 0, free: 0 };
  // By age: the map is in the order of the last contact, by which an engine would often change its place.
  const oldest = [...all.values()].sort((a, b) => a.firstSeenUs - b.firstSeenUs);
  const engine_slots: EngineSlots[] = [];
  for (const [index, { id, runs, poll }] of oldest.entries()) {
    engines.count += 1;
    engines.runs += runs.size;
    if (runs.size > 0) engines.busy += 1;
    const free = poll?.slots ?? 0;
    if (index < METRIC_ENGINES_MAX) engine_slots.push({ engine: id, busy: runs.size, free });
    else {
      other.busy += runs.size;
      other.free += free;
    }
  }
  return { engines, engine_slots: [...engine_slots, other] };
}
