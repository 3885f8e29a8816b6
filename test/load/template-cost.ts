/**
 * Measures templates of rules: `node --conditions=millrace-src test/load/template-cost.ts`
 *
 * The cost of rendering on the calling thread and through the reader threads, alone and concurrently; the cost of starting a
 * thread; and the duration of templates that try to run long. CPU time of all threads, so that other load on the machine
 * matters little.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeSpec } from "#protocol/records/rule-spec";
import { runQuery } from "#storage/queries/named";
import { openReadHandle } from "#storage/read/read-handle";
import { ReadPool } from "#storage/read/read-pool";
import { Statements } from "#storage/sqlite/statements";
import { Budget } from "#storage/templates/budget";
import { renderText } from "#storage/templates/render";
import { TEMPLATE_BOMBS } from "../support/template-bombs.ts";
import { MIB, ownCpuUs } from "./process-usage.ts";
import { seedStore } from "./seed-store.ts";

const ROUNDS = 3_000;
const TYPICAL = '{"text": "Run {{ run.name }} of {{ flow.name }} is {{ state.type }}: {{ state.message | default(\'\') }}"}';

function show(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** CPU time of this process and its threads per round, in microseconds. */
async function cost(rounds: number, work: () => unknown): Promise<number> {
  const before = ownCpuUs();
  for (let round = 0; round < rounds; round += 1) await work();
  return (ownCpuUs() - before) / rounds;
}

const home = mkdtempSync(join(tmpdir(), "millrace-templates-"));
try {
  seedStore(home, 1_000, 1);
  const path = join(home, "db.sqlite");
  const checked = completeSpec({ do: [{ kind: "webhook", url: "http://127.0.0.1/", body: TYPICAL }] }, () => null);
  if (!checked.ok) throw new Error(checked.error);
  const action = JSON.stringify(checked.spec.do[0]);
  const items = (count: number) => Array.from({ length: count }, (_, index) => ({ event: 1 + index, action }));
  const statements = new Statements(openReadHandle(path));
  const here = () => runQuery(statements, "rendered_actions", { items: items(1) });
  await cost(ROUNDS, here);
  show(`one action on the asking thread: ${(await cost(ROUNDS, here)).toFixed(0)} us`);
  const pool = new ReadPool({ path, threads: 1 });
  const before = process.memoryUsage().rss;
  show(`start of a reader thread: ${((await cost(1, () => pool.ready())) / 1000).toFixed(0)} ms`);
  for (const count of [1, 20, 200]) {
    const ask = () => pool.run("rendered_actions", { items: items(count) });
    await cost(ROUNDS / 10, ask);
    show(`${count} actions through a reader: ${((await cost(ROUNDS / 10, ask)) / count).toFixed(0)} us each`);
  }
  show(`memory added by the reader: ${((process.memoryUsage().rss - before) / MIB).toFixed(0)} MiB`);
  await pool.close();
  statements.database.close();
  const values = { payload: { rows: Array.from({ length: 2_000 }, (_, row) => ({ row, text: "x".repeat(200) })), n: 3 } };
  for (const [name, template] of Object.entries(TEMPLATE_BOMBS)) {
    let outcome = "rendered";
    const us = await cost(1, () => {
      try {
        renderText("body", template, values, new Budget());
      } catch (cause) {
        outcome = cause instanceof Error ? cause.message : String(cause);
      }
    });
    show(`bomb ${name}: ${(us / 1000).toFixed(0)} ms, ${outcome.slice(0, 90)}`);
  }
  show(`memory at the end: ${(process.memoryUsage().rss / MIB).toFixed(0)} MiB`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
