/**
 * `npm run load -- --real`: what a user's flows get from the packed server and its own engines. With two checkouts the rounds
 * alternate, so that other load on the machine affects both alike.
 */
import { resolve } from "node:path";
import { type Cleanup, started, withCleanup } from "../cleanup.ts";
import type { MeasureContext, Mode } from "../mode.ts";
import type { Part } from "../report/report.ts";
import { inTurns } from "../turns.ts";
import { measureEngineStart } from "./engine-start.ts";
import { parseRealCommandLine, REAL_USAGE, type RealOptions } from "./real-options.ts";
import { type RealServer, startRealServer } from "./real-server.ts";
import { startSpanReceiver, tracesConfig } from "./span-receiver.ts";
import { runRound } from "./workload-round.ts";
import { workloadOf } from "./workloads.ts";

const ENGINE_START = "engine start";
/** Of the folder with the flows. */
const EMPTY_MODULE = "empty.ts";
const ROOT = resolve(import.meta.dirname, "../../..");

export const REAL: Mode = {
  usage: REAL_USAGE,
  parse(args) {
    const { options, output } = parseRealCommandLine(args);
    return { output, options: async (context) => ({ goals: [], parts: [await measureReal(options, context)] }) };
  },
};

async function measureReal(options: RealOptions, context: MeasureContext): Promise<Part> {
  const { rounds, creators, batch, perSecond, serve, countRequests } = options;
  const created = `${batch === 1 ? "one by one" : `${batch} at a time`}${perSecond === null ? "" : `, ${perSecond} a second`}`;
  const part: Part = {
    title: "Real engines of serve",
    command: context.command,
    facts: [
      `compiled package, serve ${serve.length === 0 ? "with default settings" : serve.join(" ")}; ${rounds} rounds`,
      `${creators} creators create runs ${created}; time runs from the first creation to the last end`,
      ...(options.traces === null ? [] : [`the first server traces ${options.traces * 100} % of the runs`]),
      ...(countRequests ? ["the requests of the engines are counted by a module that is loaded into them"] : []),
    ],
    options,
    phases: [...options.workloads, ...(options.engineStarts > 0 ? [ENGINE_START] : [])],
    rounds,
    targets: [],
    records: [],
  };
  await withCleanup(context.interrupt, (cleanup) => measure(options, part, context, cleanup));
  return part;
}

async function measure(options: RealOptions, part: Part, context: MeasureContext, cleanup: Cleanup): Promise<void> {
  const { serve, compare, countRequests, rounds, workloads } = options;
  const servers: RealServer[] = [];
  const traced = options.traces === null ? "" : tracesConfig(await started(cleanup, startSpanReceiver()), options.traces);
  for (const [name, tree] of Object.entries({ millrace: ROOT, tree: compare })) {
    if (tree === null) continue;
    const config = servers.length === 0 ? traced : "";
    const server = await started(cleanup, startRealServer(name, resolve(tree), serve, countRequests, workloads, config));
    servers.push(server);
    part.targets.push({ name, version: server.version, durability: server.durability, start_ms: server.startMs });
  }
  for (let start = 1; start <= options.engineStarts; start++) {
    for (const server of inTurns(servers, start)) {
      context.progress.step(`start ${start} of ${options.engineStarts} of an engine, ${server.name}`);
      const figures = await measureEngineStart(server.tree, server.served, EMPTY_MODULE);
      part.records.push({ phase: ENGINE_START, target: server.name, round: start, figures, notes: [] });
    }
  }
  for (let round = 1; round <= rounds; round++) {
    for (const workload of workloads) {
      for (const server of inTurns(servers, round)) {
        context.progress.step(`round ${round} of ${rounds}: ${workload}, ${server.name}`);
        const result = await runRound(server, workload, workloadOf(workload, options), { ...options, ...context });
        part.records.push({ phase: workload, target: server.name, round, ...result });
      }
    }
  }
}
