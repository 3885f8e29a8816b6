/**
 * A whole load test: targets, rounds, phases. With two targets the rounds alternate, so that other load on the machine
 * affects both alike; ratios are computed within a round.
 */
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Cleanup, started, withCleanup } from "./cleanup.ts";
import { TREE_PREFIX } from "./command-line.ts";
import { Fleet } from "./fleet.ts";
import { HttpConnection } from "./http-connection.ts";
import type { MeasureContext, Mode } from "./mode.ts";
import { type LoadOptions, type PhaseName, parseCommandLine, USAGE } from "./options.ts";
import { startOwnServer } from "./own-server.ts";
import { startPeerServer } from "./peer-server.ts";
import { burstPhase } from "./phases/burst.ts";
import { idlePhase } from "./phases/idle.ts";
import { listPhase } from "./phases/list.ts";
import { logsPhase } from "./phases/logs.ts";
import { parkPhase } from "./phases/park.ts";
import type { Phase } from "./phases/phase.ts";
import { restPhase } from "./phases/rest.ts";
import { steadyPhase } from "./phases/steady.ts";
import { startOnPostgres } from "./postgres-target.ts";
import { prepareFleet } from "./prepare-fleet.ts";
import type { Part } from "./report/report.ts";
import { seedRuns } from "./seed-runs.ts";
import { StandIn } from "./stand-in.ts";
import { openStream } from "./stream-reader.ts";
import { joinTarget, type Target, targetRecord } from "./target.ts";
import { inTurns } from "./turns.ts";

const PHASE_OF: Record<PhaseName, Phase> = {
  idle: idlePhase,
  steady: steadyPhase,
  burst: burstPhase,
  park: parkPhase,
  rest: restPhase,
  logs: logsPhase,
  list: listPhase,
};
const SCRAPE_MS = 1_000;
const METRICS_BYTES = 262_144;
const PEER_PREFIX = "cereyan:";
const ON_POSTGRES = "postgres";

interface Side {
  target: Target;
  fleet: Fleet;
}

export const SIMULATED: Mode = {
  usage: USAGE,
  parse(args) {
    const { options, output } = parseCommandLine(args);
    return { output, options: async (context) => ({ goals: [], parts: [await runLoad(options, context)] }) };
  },
};

/** Starts the targets, measures, and ends whatever was started. */
async function runLoad(options: LoadOptions, context: MeasureContext): Promise<Part> {
  const { token: _token, ...shown } = options;
  const { tasks, logs, engines, creators, inFlight, rounds, seed } = options;
  const what = tasks + logs === 0 ? "bare runs" : `runs of ${tasks} tasks and ${logs} log lines`;
  const window = options.runs === null ? `${options.seconds} s each` : `${options.runs} runs each`;
  const part: Part = {
    title: `Simulated engines, ${options.shortRuns ? "moves inside reports" : "specified protocol"}`,
    command: context.command,
    facts: [
      `${what}; ${engines} engines, ${creators} creators, at most ${inFlight} in flight; ${rounds} rounds, ${window}; seed ${seed}`,
    ],
    options: shown,
    phases: options.phases,
    rounds,
    targets: [],
    records: [],
  };
  await withCleanup(context.interrupt, (cleanup) => measure(options, part, context, cleanup));
  return part;
}

async function measure(options: LoadOptions, part: Part, { progress }: MeasureContext, cleanup: Cleanup): Promise<void> {
  const standIn = new StandIn();
  cleanup(() => standIn.stop());
  const sides: Side[] = [];
  for (const start of [firstTarget, secondTarget]) {
    const starting = start(options);
    if (starting === null) continue;
    const target = await started(cleanup, starting);
    part.targets.push(targetRecord(target));
    const fleet = new Fleet({ ...options, slots: null, batch: 1 }, target.flow, target.endpoint, standIn.pid, options.seed);
    cleanup(() => fleet.stop());
    sides.push({ target, fleet });
    await prepareFleet(fleet, target.name);
    if (options.seedRuns > 0) {
      progress.step(`making ${options.seedRuns} ended runs, ${target.name}`);
      await seedRuns(fleet, options.seedRuns, options.seed);
    }
  }
  if (options.stream !== null) for (const { target } of sides) cleanup(await readStream(target, options.stream));
  const [first] = sides;
  if (options.scrape && first !== undefined) cleanup(scrapeEachSecond(first.target));
  for (let round = 1; round <= options.rounds; round++) {
    for (const phase of options.phases) {
      for (const side of inTurns(sides, round)) {
        progress.step(`round ${round} of ${options.rounds}: ${phase}, ${side.target.name}`);
        const result = await PHASE_OF[phase]({ ...side, options, live: (text) => progress.live(text) });
        part.records.push({ phase, target: side.target.name, round, ...result });
      }
    }
  }
}

/** Reads the metrics as Prometheus does; returns what ends it. A scrape that fails fails the process. */
function scrapeEachSecond({ endpoint }: Target): () => Promise<void> {
  const connection = new HttpConnection(endpoint, METRICS_BYTES);
  const timer = setInterval(() => void connection.get("/metrics"), SCRAPE_MS);
  return async () => {
    clearInterval(timer);
    connection.close();
  };
}

/** Reads the event stream as a page or a script does; returns what ends it. A reader that loses its connection fails the process. */
async function readStream({ endpoint }: Target, query: string): Promise<() => Promise<void>> {
  const { socket } = openStream(endpoint, query);
  const [first] = (await once(socket, "data")) as [Buffer];
  if (!first.toString().startsWith("HTTP/1.1 200")) throw new Error(`GET /api/stream?${query}: ${first.toString()}`);
  let ended = false;
  socket.on("close", () => {
    if (!ended) throw new Error("the server closed the event stream");
  });
  return async () => {
    ended = true;
    socket.destroy();
  };
}

async function secondOfTree(tree: string, { durability, token, compiled, storeRuns, seed }: LoadOptions): Promise<Target> {
  // This checkout may be compared with itself.
  return {
    ...(await startOwnServer({ home: null, durability, token, compiled }, { runs: storeRuns, seed }, tree)),
    name: "tree",
  };
}

function firstTarget(options: LoadOptions): Promise<Target> {
  const { url, token, home, durability, storeRuns, seed, compiled } = options;
  if (url !== null) return namedTarget("server", url, options);
  return startOwnServer({ home, durability, token, compiled }, { runs: storeRuns, seed });
}

function secondTarget(options: LoadOptions): Promise<Target> | null {
  return options.compare === null ? null : namedTarget("compared", options.compare, options);
}

function namedTarget(name: string, place: string, options: LoadOptions): Promise<Target> {
  if (place === ON_POSTGRES) return startOnPostgres(options);
  if (place.startsWith(TREE_PREFIX)) return secondOfTree(resolve(place.slice(TREE_PREFIX.length)), options);
  if (!place.startsWith(PEER_PREFIX)) return joinTarget(name, place, options.token, join(tmpdir(), "load"));
  return startPeerServer(place.slice(PEER_PREFIX.length), options.engines);
}
