/** The core's part of GET /metrics. Its cost follows the engines, resources and flows, never the runs. */
import { METRIC_FLOWS_MAX } from "#protocol/limits";
import type { ActorInfo } from "#protocol/records/server";
import type { CoreFigures } from "#protocol/wire/figures";
import type { Turn } from "../core/turn.ts";
import type { ServerFacts } from "./server-info.ts";

export function describeMetrics({ state }: Turn, facts: ServerFacts, actors: ActorInfo[]): CoreFigures {
  const sizes = facts.fileSizes();
  const flows: CoreFigures["flows"] = [];
  for (const { id, project, name } of state.flows.values()) {
    if (flows.length === METRIC_FLOWS_MAX) break;
    flows.push([id, project, name]);
  }
  const engines = { count: 0, busy: 0, runs: 0 };
  for (const { runs } of state.engines.values()) {
    engines.count += 1;
    engines.runs += runs.size;
    if (runs.size > 0) engines.busy += 1;
  }
  return {
    queue: state.queue.waitingByPlace,
    resources: state.ledger.list(),
    engines,
    polls: state.queue.parked(),
    actors,
    database_bytes: sizes.database,
    wal_bytes: sizes.wal,
    flows,
  };
}
