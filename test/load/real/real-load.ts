/**
 * `npm run load -- --real`: what a user's flows get from the packed server and its own engines. With two checkouts the rounds
 * alternate, so that other load on the machine affects both alike.
 */
import { resolve } from "node:path";
import { readMachine } from "../machine.ts";
import { renderMachine, renderTables } from "../report-text.ts";
import { type PhaseRecord, type Summarized, summarize, type TargetRecord } from "../summary.ts";
import { parseRealCommandLine, REAL_USAGE, type RealOptions } from "./real-options.ts";
import { type RealServer, startRealServer } from "./real-server.ts";
import { runRound } from "./workload-round.ts";
import { workloadOf } from "./workloads.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

/** Returns the exit code. Throws UsageError for wrong options. */
export async function realMain(args: readonly string[], interrupt: AbortSignal): Promise<number> {
  const { options, json, help } = parseRealCommandLine(args);
  if (help) {
    process.stdout.write(REAL_USAGE);
    return 0;
  }
  const progress = (text: string) => process.stderr.write(`${text}\n`);
  const machine = readMachine();
  const report = await runRealLoad(options, progress, interrupt);
  if (json) {
    process.stdout.write(`${JSON.stringify({ machine, options, ...report, summary: summarize(report) }, null, 2)}\n`);
    return 0;
  }
  const head = [
    renderMachine(machine),
    ...report.targets.map(({ name, version, durability }) => `${name} ${version}, durability: ${durability}`),
  ];
  process.stdout.write(`${[...head, ...renderTables(report, options.workloads, options.rounds > 1)].join("\n")}\n`);
  return 0;
}

async function runRealLoad(options: RealOptions, progress: (text: string) => void, interrupt: AbortSignal): Promise<Summarized> {
  const targets: TargetRecord[] = [];
  const records: PhaseRecord[] = [];
  const servers: RealServer[] = [];
  try {
    servers.push(await startRealServer("millrace", ROOT, options.serve));
    if (options.compare !== null) servers.push(await startRealServer("tree", resolve(options.compare), options.serve));
    for (const { name, version, durability, startMs } of servers) targets.push({ name, version, durability, start_ms: startMs });
    for (let round = 1; round <= options.rounds; round++) {
      for (const workload of options.workloads) {
        // The side that comes second finds a machine that the first has warmed or filled: they change places.
        for (const server of round % 2 === 0 ? servers.toReversed() : servers) {
          progress(`round ${round} of ${options.rounds}: ${workload}, ${server.name}`);
          const { creators, limitSeconds } = options;
          const figures = await runRound(server, workload, workloadOf(workload, options), {
            creators,
            limitSeconds,
            progress,
            interrupt,
          });
          records.push({ phase: workload, target: server.name, round, figures, notes: [] });
        }
      }
    }
    return { targets, records };
  } finally {
    await Promise.allSettled(servers.map((server) => server.stop()));
  }
}
