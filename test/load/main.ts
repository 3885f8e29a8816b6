/** Entry of `npm run load`. Exit codes: 0 measured, 1 the measurement failed, 2 wrong options. */
import { writeFileSync } from "node:fs";
import { BATCH } from "./batch/batch-load.ts";
import { BULLMQ } from "./bullmq/bullmq-load.ts";
import { UsageError } from "./command-line.ts";
import { commandText } from "./command-text.ts";
import { DURABLE } from "./durable/durable-load.ts";
import { GOALS } from "./goals/goals-load.ts";
import { SIMULATED } from "./load-test.ts";
import { readMachine } from "./machine.ts";
import type { Mode } from "./mode.ts";
import { ProgressLine } from "./progress.ts";
import { REAL } from "./real/real-load.ts";
import { renderHtml } from "./report/report-html.ts";
import { renderJson } from "./report/report-json.ts";
import { renderReport } from "./report/report-text.ts";
import { SLOTS } from "./slots/slots-load.ts";

const MODES: Readonly<Record<string, Mode>> = {
  "--real": REAL,
  "--slots": SLOTS,
  "--batch": BATCH,
  "--bullmq": BULLMQ,
  "--durable": DURABLE,
  "--goals": GOALS,
};

async function main(args: readonly string[]): Promise<number> {
  const [selected] = args.filter((arg) => arg in MODES);
  const mode = MODES[selected ?? ""] ?? SIMULATED;
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupt.abort());
  try {
    const { options: measure, output } = mode.parse(args.filter((arg) => arg !== selected));
    if (output.help) {
      process.stdout.write(mode.usage);
      return 0;
    }
    const machine = readMachine();
    const command = commandText(args);
    const progress = new ProgressLine(process.stderr);
    const measured_at = new Date().toISOString();
    const measured = await measure({ command, progress, interrupt: interrupt.signal }).finally(() => progress.clear());
    const report = { command, measured_at, machine, ...measured };
    if (output.html !== null) writeFileSync(output.html, renderHtml(report));
    process.stdout.write(output.json ? renderJson(report) : renderReport(report));
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (!(error instanceof UsageError)) return 1;
    process.stderr.write(`\n${mode.usage}`);
    return 2;
  }
}

process.exitCode = await main(process.argv.slice(2));
