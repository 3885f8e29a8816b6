/**
 * A whole load test: targets, rounds, phases. With two targets the rounds alternate, so that other load on the machine
 * affects both alike; ratios are computed within a round.
 */
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Fleet, LoadFailed } from "./fleet.ts";
import { type Machine, readMachine } from "./machine.ts";
import type { LoadOptions, PhaseName } from "./options.ts";
import { startOwnServer } from "./own-server.ts";
import { startPeerServer } from "./peer-server.ts";
import { burstPhase } from "./phases/burst.ts";
import { idlePhase } from "./phases/idle.ts";
import { listPhase } from "./phases/list.ts";
import { logsPhase } from "./phases/logs.ts";
import { parkPhase } from "./phases/park.ts";
import { DRAIN_LIMIT_MS, type Phase } from "./phases/phase.ts";
import { restPhase } from "./phases/rest.ts";
import { steadyPhase } from "./phases/steady.ts";
import { seedRuns } from "./seed-runs.ts";
import { StandIn } from "./stand-in.ts";
import { checkStoredRuns } from "./stored-run.ts";
import type { Summarized } from "./summary.ts";
import { joinTarget, type Target } from "./target.ts";

const PHASE_OF: Record<PhaseName, Phase> = {
  idle: idlePhase,
  steady: steadyPhase,
  burst: burstPhase,
  park: parkPhase,
  rest: restPhase,
  logs: logsPhase,
  list: listPhase,
};
const PEER_PREFIX = "cereyan:";
const TREE_PREFIX = "tree:";

export interface LoadReport extends Summarized {
  machine: Machine;
  options: Omit<LoadOptions, "token" | "progress" | "interrupt">;
}

interface Side {
  target: Target;
  fleet: Fleet;
}

/** Starts the targets, measures, and ends whatever was started. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { token: _token, progress: _progress, interrupt, ...shown } = options;
  const report: LoadReport = { machine: readMachine(), options: shown, targets: [], records: [] };
  const standIn = new StandIn();
  const sides: Side[] = [];
  const targets: Promise<Target>[] = [];
  try {
    const interrupted = new Promise<never>((_resolve, reject) => {
      interrupt?.addEventListener("abort", () => reject(new LoadFailed("interrupted")), { once: true });
    });
    await Promise.race([measure(options, report, targets, sides, standIn.pid), interrupted]);
    return report;
  } finally {
    for (const { fleet } of sides) fleet.stop();
    await Promise.allSettled(targets.map(async (target) => (await target).stop()));
    standIn.stop();
  }
}

/** Whatever is started is entered in `targets` and `sides` at once, so that the caller can end it in any case. */
async function measure(
  options: LoadOptions,
  report: LoadReport,
  targets: Promise<Target>[],
  sides: Side[],
  standInPid: number,
): Promise<void> {
  for (const start of [firstTarget, secondTarget]) {
    const starting = start(options);
    if (starting === null) continue;
    targets.push(starting);
    const target = await starting;
    const { name, version, durability, startMs } = target;
    report.targets.push({ name, version, durability, start_ms: startMs });
    sides.push(await prepare(target, options, standInPid));
  }
  for (let round = 1; round <= options.rounds; round++) {
    for (const phase of options.phases) {
      // The side that comes second finds a machine that the first has warmed or filled: they change places.
      for (const side of round % 2 === 0 ? sides.toReversed() : sides) {
        options.progress?.(`round ${round} of ${options.rounds}: ${phase}, ${side.target.name}`);
        const { figures, notes } = await PHASE_OF[phase]({ ...side, options });
        report.records.push({ phase, target: side.target.name, round, figures, notes });
      }
    }
  }
}

function firstTarget(options: LoadOptions): Promise<Target> {
  const { url, token, home, durability, storeRuns, seed } = options;
  if (url !== null) return namedTarget("server", url, options);
  return startOwnServer({ home, durability, token }, { runs: storeRuns, seed });
}

function secondTarget(options: LoadOptions): Promise<Target> | null {
  return options.compare === null ? null : namedTarget("compared", options.compare, options);
}

function namedTarget(name: string, place: string, options: LoadOptions): Promise<Target> {
  if (place.startsWith(TREE_PREFIX)) {
    const { durability, token } = options;
    return startOwnServer({ home: null, durability, token }, undefined, resolve(place.slice(TREE_PREFIX.length)));
  }
  if (!place.startsWith(PEER_PREFIX)) return joinTarget(name, place, options.token, join(tmpdir(), "load"));
  return startPeerServer(place.slice(PEER_PREFIX.length), options.engines);
}

/** Connects the engines, registers the flow by a first run, and checks that this run was stored completely. */
async function prepare(target: Target, options: LoadOptions, standInPid: number): Promise<Side> {
  const { seed, ...size } = options;
  const fleet = new Fleet({ ...size }, target.flow, target.endpoint, standInPid, seed);
  try {
    await fleet.start();
    await fleet.createOne(true);
    if (!(await fleet.until(() => fleet.inFlight === 0, DRAIN_LIMIT_MS)) || fleet.recorder.failed > 0) {
      throw new LoadFailed(`${target.name}: the first run was not finished: ${fleet.recorder.errors.join("; ")}`);
    }
    await checkStoredRuns(fleet);
    if (options.seedRuns > 0) {
      options.progress?.(`making ${options.seedRuns} ended runs, ${target.name}`);
      await seedRuns(fleet, options.seedRuns, seed);
    }
    return { target, fleet };
  } catch (error) {
    fleet.stop();
    throw error;
  }
}
