/** Entry of `npm run load`. Exit codes: 0 measured, 1 the measurement failed, 2 wrong options. */
import { runLoad } from "./load-test.ts";
import { type CommandLine, parseCommandLine, USAGE, UsageError } from "./options.ts";
import { realMain } from "./real/real-load.ts";
import { REAL_USAGE } from "./real/real-options.ts";
import { renderReport } from "./report-text.ts";
import { summarize } from "./summary.ts";

async function main(): Promise<number> {
  let line: CommandLine;
  const real = process.argv.includes("--real");
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupt.abort());
  try {
    if (real) return await realMain(process.argv.slice(2), interrupt.signal);
    line = parseCommandLine(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) return failed(error);
    process.stderr.write(`${error.message}\n\n${real ? REAL_USAGE : USAGE}`);
    return 2;
  }
  if (line.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  try {
    const progress = (text: string) => process.stderr.write(`${text}\n`);
    const report = await runLoad({ ...line.options, progress, interrupt: interrupt.signal });
    process.stdout.write(
      line.json ? `${JSON.stringify({ ...report, summary: summarize(report) }, null, 2)}\n` : renderReport(report),
    );
    return 0;
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): number {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return 1;
}

process.exitCode = await main();
