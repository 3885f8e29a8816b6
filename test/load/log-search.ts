/**
 * What a search of logs costs: the time of one page (the time for which it holds a reader) and the lines it passes over.
 *
 *   node --conditions=millrace-src test/load/log-search.ts [RUNS] [ROUNDS]
 *
 * RUNS runs with ten lines of about a hundred characters each, in blocks as engines report them, in a store of its own. With a
 * text that no line has, the search goes through the whole log; with one that each line has, a page ends at its limit.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogSearchPage } from "#protocol/records/log";
import { runQuery } from "#storage/queries/named";
import { openReadHandle } from "#storage/read/read-handle";
import { buildLogBlocks, type LogLine } from "#storage/schema/log-blocks";
import { Statements } from "#storage/sqlite/statements";
import { emptyDecision, levelBit } from "#storage/write/batch";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { seedStore } from "./seed-store.ts";

const [RUNS = "100000", ROUNDS = "5"] = process.argv.slice(2);
const LINES_PER_RUN = 10;
const RUNS_PER_COMMIT = 500;

const SEARCHES: readonly [name: string, query: object][] = [
  ["text that no line has", { q: "no such text" }],
  ["text that must be parsed for (a slash), in no line", { q: "no/such" }],
  ["text that each block has, in no line of the level", { q: "loaded", level: 40 }],
  ["a flow without lines", { q: "loaded", flow_id: 99 }],
  ["text that each line has, first page", { q: "loaded", limit: 1_000 }],
];

function fillLogs(path: string, runs: number): void {
  const database = openWriteHandle(path, { durability: "normal", salt: 2 });
  const writer = new Writer(database, { stream: "new_block", nowUs: () => 0 });
  for (let first = 1, number = 1; first <= runs; first += RUNS_PER_COMMIT, number += 1) {
    const entries: (number | string)[] = [];
    for (let run = first; run < Math.min(runs + 1, first + RUNS_PER_COMMIT); run++) {
      const lines = Array.from({ length: LINES_PER_RUN }, (_, index): LogLine => {
        const message = `Loaded part ${index} of customer ${(run * 7919) % 10_007} from the warehouse, ${run * 31} rows after 0.4 s`;
        return [null, 20, "orders.load", 1_700_000_000_000_000 + run, message];
      });
      entries.push(run, 1, lines.length, levelBit(20), JSON.stringify(lines));
    }
    const place = { number, generation: 0, refusals: 0, epoch: null };
    writer.commit({ batch: { kind: "Batch", ...place, ...emptyDecision() }, logs: buildLogBlocks(entries, writer.nextLogId) });
  }
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
}

interface Search {
  lines: number;
  ms: number[];
}

function wholeSearch(statements: Statements, query: object): Search {
  const seen: Search = { lines: 0, ms: [] };
  for (let after: number | null = Number.MAX_SAFE_INTEGER; after !== null; ) {
    const begin = performance.now();
    const text = runQuery(statements, "log_search", { query: { limit: 100, ...query, after } });
    seen.ms.push(performance.now() - begin);
    const page = JSON.parse(text ?? "null") as LogSearchPage;
    seen.lines += page.lines_searched;
    after = page.items.length > 0 ? null : page.next_cursor;
  }
  return seen;
}

const home = mkdtempSync(join(tmpdir(), "millrace-log-search-"));
try {
  seedStore(join(home, "store"), Number(RUNS), 1);
  const path = join(home, "store", "db.sqlite");
  fillLogs(path, Number(RUNS));
  const statements = new Statements(openReadHandle(path));
  console.log("lines/s     ms per page  slowest  pages  search");
  for (const [name, query] of SEARCHES) {
    const rounds = Array.from({ length: Number(ROUNDS) }, () => wholeSearch(statements, query));
    const pages = rounds.flatMap(({ ms }) => ms).sort((a, b) => a - b);
    const total = pages.reduce((sum, ms) => sum + ms, 0);
    const lines = rounds.reduce((sum, round) => sum + round.lines, 0);
    const median = pages[Math.floor(pages.length / 2)] ?? 0;
    const figures = [((lines / total) * 1_000).toFixed(0).padStart(9), median.toFixed(1).padStart(11)];
    figures.push((pages.at(-1) ?? 0).toFixed(1).padStart(9), String(pages.length / rounds.length).padStart(5));
    console.log(`${figures.join("  ")}  ${name}`);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
