/**
 * Compares the cost of small reads with another tree:
 * `node --conditions=millrace-src test/load/read-cost.ts TREE [ROUNDS] [RUNS]`
 *
 * TREE is a checkout of this repository with its node_modules. The queries of both trees are loaded into this process and
 * read the same store of RUNS runs, in an order that alternates each round. The ratio is the other tree's time divided by
 * ours (above 1, ours is faster), with the 95 % interval over the rounds and the minimum times.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type * as named from "#storage/queries/named";
import type { openReadHandle } from "#storage/read/read-handle";
import type { Statements } from "#storage/sqlite/statements";
import { seedStore } from "./seed-store.ts";

const [TREE = "", ROUNDS = "40", RUNS = "2000"] = process.argv.slice(2);
const READS = 100;
/** Two-sided, for about this number of rounds. */
const T_95 = 2.02;

const CALLS: readonly [name: named.QueryName, args: object][] = [
  ["run", { id: 1000 }],
  ["runs", { query: { limit: 50, sort: "created_desc" } }],
  ["runs", { query: { limit: 50, sort: "activity" } }],
  ["run_tasks", { id: 1000 }],
  ["run_logs", { id: 1000, query: { limit: 1000 } }],
  ["event", { id: 1000 }],
  ["events", { query: { limit: 100, ascending: false } }],
  ["events", { query: { limit: 100, ascending: false, name: "run.completed" } }],
  ["task_runs", { query: { limit: 50 } }],
  ["flow_summaries", { project: null, live: [], now_us: 0 }],
];

type Queries = typeof named;
/** The other tree's modules may have types that differ from ours. */
type Side = { run: (name: named.QueryName, args: object) => unknown };

async function load(tree: string, path: string): Promise<Side> {
  const from = <T>(file: string): Promise<T> => import(pathToFileURL(join(tree, file)).href) as Promise<T>;
  const { runQuery } = await from<Queries>("storage/queries/named.ts");
  const { Statements: Theirs } = await from<{ Statements: typeof Statements }>("storage/sqlite/statements.ts");
  const { openReadHandle: open } = await from<{ openReadHandle: typeof openReadHandle }>("storage/read/read-handle.ts");
  const statements = new Theirs(open(path));
  return { run: (name, args) => runQuery(statements, name, args as never) };
}

/** Microseconds of one read. */
function cost(side: Side, [name, args]: (typeof CALLS)[number]): number {
  const begin = performance.now();
  for (let index = 0; index < READS; index += 1) side.run(name, args);
  return ((performance.now() - begin) / READS) * 1000;
}

function interval(ratios: readonly number[]): string {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  const variance = logs.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, logs.length - 1);
  const half = T_95 * Math.sqrt(variance / logs.length);
  return [mean, mean - half, mean + half].map((value) => Math.exp(value).toFixed(3)).join("  ");
}

const home = mkdtempSync(join(tmpdir(), "millrace-read-cost-"));
try {
  mkdirSync(join(home, "store"), { mode: 0o700 });
  seedStore(join(home, "store"), Number(RUNS), 1);
  const path = join(home, "store", "db.sqlite");
  const ours = await load(resolve(import.meta.dirname, "../.."), path);
  const theirs = await load(resolve(TREE), path);
  console.log("ratio  from   to      ours us  theirs us  query");
  for (const call of CALLS) {
    const rounds: { ours: number; theirs: number }[] = [];
    // The first round warms up.
    for (let round = 0; round <= Number(ROUNDS); round += 1) {
      const first = round % 2 === 0 ? cost(ours, call) : 0;
      const other = cost(theirs, call);
      rounds.push({ ours: round % 2 === 0 ? first : cost(ours, call), theirs: other });
    }
    const measured = rounds.slice(1);
    const least = (side: "ours" | "theirs") => Math.min(...measured.map((round) => round[side])).toFixed(1);
    const ratios = interval(measured.map((round) => round.theirs / round.ours));
    console.log(`${ratios}  ${least("ours").padStart(7)}  ${least("theirs").padStart(9)}  ${call[0]} ${JSON.stringify(call[1])}`);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
