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
import type { RealServer } from "./real-server.ts";
import { runRounds, type Side, startedAnew, startSide, staying } from "./rounds.ts";
import { startSpanReceiver, tracesConfig } from "./span-receiver.ts";

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
      ...(options.starts === 0
        ? []
        : [`each round starts the servers ${options.starts} times, with ${options.turns} turns of each; its figures are means`]),
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
  const traced = options.traces === null ? "" : tracesConfig(await started(cleanup, startSpanReceiver()), options.traces);
  const sides: Side[] = [{ name: "millrace", tree: ROOT, config: traced }];
  if (options.compare !== null) sides.push({ name: "tree", tree: options.compare, config: "" });
  if (options.starts > 0) return await runRounds(startedAnew(sides, options, part, context), options, part, context);
  const servers: RealServer[] = [];
  for (const side of sides) servers.push(await startSide(side, options, part, cleanup));
  for (let start = 1; start <= options.engineStarts; start++) {
    for (const server of inTurns(servers, start)) {
      context.progress.step(`start ${start} of ${options.engineStarts} of an engine, ${server.name}`);
      const figures = await measureEngineStart(server.tree, server.served, EMPTY_MODULE);
      part.records.push({ phase: ENGINE_START, target: server.name, round: start, figures, notes: [] });
    }
  }
  await runRounds(staying(servers), options, part, context);
}
