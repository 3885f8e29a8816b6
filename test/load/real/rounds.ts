/** The rounds of real engines: on servers that stay for all rounds, or on servers that each round starts anew. */
import { resolve } from "node:path";
import { type Cleanup, started, withCleanup } from "../cleanup.ts";
import { meanFigures } from "../figure.ts";
import type { MeasureContext } from "../mode.ts";
import type { PhaseResult } from "../phases/phase.ts";
import type { Part } from "../report/report.ts";
import { inTurns } from "../turns.ts";
import type { RealOptions } from "./real-options.ts";
import { type RealServer, startRealServer } from "./real-server.ts";
import { runRound } from "./workload-round.ts";
import { type WorkloadName, workloadOf } from "./workloads.ts";

/** One of the servers that are compared. */
export interface Side {
  name: string;
  /** The checkout. */
  tree: string;
  /** The text of its millrace.toml. */
  config: string;
}

export async function startSide(side: Side, options: RealOptions, part: Part, cleanup: Cleanup): Promise<RealServer> {
  const { serve, countRequests, workloads } = options;
  const starting = startRealServer(side.name, resolve(side.tree), serve, countRequests, workloads, side.config);
  const server = await started(cleanup, starting);
  if (!part.targets.some(({ name }) => name === side.name)) {
    part.targets.push({ name: side.name, version: server.version, durability: server.durability, start_ms: server.startMs });
  }
  return server;
}

/** The servers take turns in each round. */
export async function runRounds(
  servers: readonly RealServer[],
  options: RealOptions,
  part: Part,
  context: MeasureContext,
): Promise<void> {
  for (let round = 1; round <= options.rounds; round++) {
    for (const workload of options.workloads) {
      for (const server of inTurns(servers, round)) {
        context.progress.step(`round ${round} of ${options.rounds}: ${workload}, ${server.name}`);
        const result = await runRound(server, workload, workloadOf(workload, options), { ...options, ...context });
        part.records.push({ phase: workload, target: server.name, round, ...result });
      }
    }
  }
}

/** Two servers of the same code differ for as long as they live: a mean of several starts differs less. */
export async function runRoundsOfStarts(
  sides: readonly Side[],
  options: RealOptions,
  part: Part,
  context: MeasureContext,
): Promise<void> {
  for (let round = 1; round <= options.rounds; round++) {
    for (const workload of options.workloads) {
      const results = new Map(sides.map(({ name }) => [name, [] as PhaseResult[]]));
      for (let start = 1; start <= options.starts; start++) {
        const place = `round ${round} of ${options.rounds}: ${workload}, start ${start} of ${options.starts}`;
        // The side that is started first also changes.
        const inOrder = inTurns(sides, round + start - 1);
        await runTurns(inOrder, workload, options, part, context, place, (name, result) => results.get(name)?.push(result));
      }
      for (const [target, ofTurns] of results) {
        const figures = meanFigures(ofTurns.map((result) => result.figures));
        part.records.push({ phase: workload, target, round, ...ofTurns.at(-1), figures, notes: [] });
      }
    }
  }
}

/** Starts the servers, lets them execute the workload in turns, and ends them. */
async function runTurns(
  sides: readonly Side[],
  workload: WorkloadName,
  options: RealOptions,
  part: Part,
  context: MeasureContext,
  place: string,
  ended: (name: string, result: PhaseResult) => void,
): Promise<void> {
  await withCleanup(context.interrupt, async (cleanup) => {
    const servers: RealServer[] = [];
    for (const side of sides) servers.push(await startSide(side, options, part, cleanup));
    for (let turn = 1; turn <= options.turns; turn++) {
      for (const server of inTurns(servers, turn)) {
        context.progress.step(`${place}, turn ${turn} of ${options.turns}, ${server.name}`);
        ended(server.name, await runRound(server, workload, workloadOf(workload, options), { ...options, ...context }));
      }
    }
  });
}
