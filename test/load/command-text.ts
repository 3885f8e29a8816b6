/** A command line as it is shown in reports. */
import { quoteForShell } from "#protocol/values/shell-word";

/** Options that do not change what is measured. */
const NOT_SHOWN = new Set(["--json"]);
const FILE_OPTIONS = new Set(["--html"]);
const SECRET_OPTIONS = new Set(["--token"]);

export function commandText(args: readonly string[]): string {
  const shown: string[] = [];
  for (let n = 0; n < args.length; n++) {
    const [name = "", value] = splitOption(args[n] ?? "");
    if (NOT_SHOWN.has(name)) continue;
    if (FILE_OPTIONS.has(name)) {
      if (value === undefined) n += 1;
    } else if (SECRET_OPTIONS.has(name)) {
      if (value === undefined) n += 1;
      shown.push(name, "...");
    } else shown.push(quoteForShell(args[n] ?? ""));
  }
  return shown.length === 0 ? "npm run load" : `npm run load -- ${shown.join(" ")}`;
}

function splitOption(arg: string): [string, string | undefined] {
  const at = arg.indexOf("=");
  return at === -1 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)];
}
