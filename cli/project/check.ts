/** `millrace check`: everything in a folder that a server would refuse or that is probably meant otherwise. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { CommandError, EXIT } from "../exit-code.ts";
import { problemLines } from "../run/code-problems.ts";
import { counted } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";

export interface CheckOptions {
  json?: boolean;
  strict?: boolean;
}

/** Exit code 1 if something cannot be used; with `--strict` also for warnings. */
export async function check(dir: string, options: CheckOptions): Promise<number> {
  const folder = resolve(dir);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new CommandError(`${folder} is not a directory`);
  const { checkFolder } = await import("#server/operations/check-folder");
  const { settingsError, warnings, discovery } = await checkFolder(folder);
  const problems = discovery?.problems.map(({ module, kind, error }) => ({ module, kind, error })) ?? [];
  const isBroken = settingsError !== null || problems.some(({ kind }) => kind !== "warning");
  const isSuspect = warnings.length > 0 || problems.some(({ kind }) => kind === "warning");
  const schedules = [...(discovery?.schedules.values() ?? [])].reduce((sum, count) => sum + count, 0);
  const { flows = [], rules = [], routes = [] } = discovery ?? {};
  const counts = { flows: flows.length, schedules, rules: rules.length, routes: routes.length };
  const out = new Terminal(process.stdout);
  const sound = !isBroken && !(options.strict === true && isSuspect);
  if (options.json === true) out.json({ sound, settings_error: settingsError, warnings, problems, ...counts });
  else {
    const words = [
      counted(counts.flows, "flow"),
      counted(schedules, "schedule"),
      counted(counts.rules, "rule"),
      counted(counts.routes, "route"),
    ];
    out.line(`${printable(folder)}: ${words.join(", ")}`);
    if (settingsError !== null) out.line(`${out.paint("red", "\u25a0")} ${printable(settingsError)}`);
    for (const warning of warnings) out.line(`${out.paint("yellow", "\u25c6")} ${printable(warning)}`);
    for (const line of problemLines(problems, out)) out.line(line);
  }
  return sound ? EXIT.ok : EXIT.runFailed;
}
