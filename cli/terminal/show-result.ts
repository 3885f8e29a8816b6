/** What a command that changed something prints. */
import { EXIT } from "../exit-code.ts";
import { Terminal } from "./terminal.ts";

/** One line, or with `--json` the data. */
export function showResult(options: { json?: boolean }, data: unknown, line: string): number {
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(data);
  else out.line(line);
  return EXIT.ok;
}
