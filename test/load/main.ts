/** Entry of `npm run load`. Exit codes: 0 measured, 1 the measurement failed, 2 wrong options. */
import { runLoad } from "./load-test.ts";
import { type CommandLine, parseCommandLine, USAGE, UsageError } from "./options.ts";
import { renderReport } from "./report-text.ts";
import { summarize } from "./summary.ts";

async function main(): Promise<number> {
  let line: CommandLine;
  try {
    line = parseCommandLine(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  if (line.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupt.abort());
  try {
    const progress = (text: string) => process.stderr.write(`${text}\n`);
    const report = await runLoad({ ...line.options, progress, interrupt: interrupt.signal });
    process.stdout.write(
      line.json ? `${JSON.stringify({ ...report, summary: summarize(report) }, null, 2)}\n` : renderReport(report),
    );
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

process.exitCode = await main();
