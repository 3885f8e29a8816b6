/** The rounds of real engines: the servers stay for all rounds, or each round starts them anew. */
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

/** Provides the servers for some turns; by an even number, the second of them is started and measured first. */
export type Serving = (number: number, turns: (servers: readonly RealServer[]) => Promise<void>) => Promise<void>;

/** Servers that stay for all rounds. */
export function staying(servers: readonly RealServer[]): Serving {
  return (number, turns) => turns(inTurns(servers, number));
}

/**
 * Servers that are started anew each time. Two servers of the same code differ in speed for as long as they live; the means of
 * several starts differ less.
 */
export function startedAnew(sides: readonly Side[], options: RealOptions, part: Part, { interrupt }: MeasureContext): Serving {
  return (number, turns) =>
    withCleanup(interrupt, async (cleanup) => {
      const servers: RealServer[] = [];
      for (const side of inTurns(sides, number)) servers.push(await startSide(side, options, part, cleanup));
      await turns(servers);
    });
}

/** Measures each workload in each round. The figures of a round are the means of its turns. */
export async function runRounds(serving: Serving, options: RealOptions, part: Part, context: MeasureContext): Promise<void> {
  for (let round = 1; round <= options.rounds; round++) {
    for (const workload of options.workloads) {
      for (const [target, ofTurns] of await runTurns(serving, workload, round, options, context)) {
        const figures = meanFigures(ofTurns.map((result) => result.figures));
        const notes = ofTurns.flatMap((result) => result.notes);
        part.records.push({ phase: workload, target, round, ...ofTurns.at(-1), figures, notes });
      }
    }
  }
}

/** The results of each server in one round of a workload. */
async function runTurns(
  serving: Serving,
  workload: WorkloadName,
  round: number,
  options: RealOptions,
  context: MeasureContext,
): Promise<Map<string, PhaseResult[]>> {
  const results = new Map<string, PhaseResult[]>();
  const starts = Math.max(options.starts, 1);
  for (let start = 1; start <= starts; start++) {
    await serving(round + start - 1, async (servers) => {
      for (let turn = 1; turn <= options.turns; turn++) {
        for (const server of inTurns(servers, turn)) {
          const place = [`round ${round} of ${options.rounds}: ${workload}`, ...counted("start", start, starts)];
          context.progress.step([...place, ...counted("turn", turn, options.turns), server.name].join(", "));
          const result = await runRound(server, workload, workloadOf(workload, options), { ...options, ...context });
          results.set(server.name, [...(results.get(server.name) ?? []), result]);
        }
      }
    });
  }
  return results;
}

function counted(what: string, number: number, all: number): string[] {
  return all === 1 ? [] : [`${what} ${number} of ${all}`];
}
