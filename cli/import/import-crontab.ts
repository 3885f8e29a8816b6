/** `millrace import crontab`: reads a crontab, reports each row, and adds the jobs to millrace.toml. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { readJobs } from "#sdk/jobs/read-jobs";
import { CommandError, EXIT } from "../exit-code.ts";
import { counted } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { readCrontab } from "./crontab.ts";
import { type CrontabImport, jobsOf } from "./crontab-jobs.ts";

export interface ImportCrontabOptions {
  to?: string;
  dryRun?: boolean;
  system?: boolean;
  user?: string;
  json?: boolean;
}

const SETTINGS = "millrace.toml";

/** Exit code 1 if a row was not imported. */
export async function importCrontab(file: string | undefined, options: ImportCrontabOptions): Promise<number> {
  const path = join(resolve(options.to ?? settingsFolder(".")), SETTINGS);
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const existing = readJobs(before);
  if (existing.problems.length > 0) throw new CommandError(`${path}: ${existing.problems.join("; ")}`, "Mend it first.");
  const system = options.system ?? (file !== undefined && isSystemCrontab(resolve(file)));
  const rows = readCrontab(await crontabText(file), system);
  const { scheduleProblems } = await import("#server/discovery/declared-schedules");
  const found = jobsOf(rows, {
    user: options.user ?? userInfo().username,
    home: homedir(),
    taken: new Set(existing.jobs.keys()),
    scheduleError: (cron, timezone) =>
      scheduleProblems([{ kind: "cron", cron, timezone }])[0]?.replace("schedule 0: ", "") ?? null,
  });
  const added = found.jobs.map(({ toml }) => toml).join("\n");
  if (options.dryRun !== true && found.jobs.length > 0) write(path, before, added);
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ path, written: options.dryRun !== true && found.jobs.length > 0, ...found });
  else report(out, found, path, added, options.dryRun === true);
  return found.refused.length === 0 ? EXIT.ok : EXIT.runFailed;
}

/** Where jobs go without --to: in a folder of `millrace init` the settings are in flows/. */
export function settingsFolder(base: string): string {
  const served = join(base, "flows");
  return !existsSync(join(base, SETTINGS)) && existsSync(join(served, SETTINGS)) ? served : base;
}

/** Files in which each row names a user. */
function isSystemCrontab(path: string): boolean {
  return basename(dirname(path)) === "cron.d" || (basename(path) === "crontab" && basename(dirname(path)) === "etc");
}

async function crontabText(file: string | undefined): Promise<string> {
  if (file === "-") return await textOf(process.stdin);
  try {
    return file === undefined ? execFileSync("crontab", ["-l"], { encoding: "utf8", stdio: "pipe" }) : readFileSync(file, "utf8");
  } catch (error) {
    if (file === undefined && error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new CommandError("this machine has no program `crontab`", "Name a file: millrace import crontab FILE");
    const why = error instanceof Error ? error.message.trim().split("\n").at(-1) : String(error);
    throw new CommandError(
      file === undefined ? `your crontab cannot be read with \`crontab -l\`: ${why}` : `${file} cannot be read: ${why}`,
      file === undefined ? "Name a file: millrace import crontab FILE" : "- reads the standard input.",
    );
  }
}

function write(path: string, before: string, added: string): void {
  const gap = before === "" ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  const after = `${before}${gap}${added}`;
  const { problems } = readJobs(after);
  if (problems.length > 0) throw new CommandError(`${path} would not be valid: ${problems.join("; ")}`);
  writeFileSync(path, after);
}

function report(out: Terminal, { jobs, refused, notes }: CrontabImport, path: string, added: string, dryRun: boolean): void {
  const lines = [
    ...jobs.map(({ line, name }) => ({ line, text: `${out.paint("green", "\u25cf")} line ${line}: [jobs.${name}]` })),
    ...refused.map(({ line, text, reason }) => ({
      line,
      text: `${out.paint("red", "\u25a0")} line ${line}: not imported: ${printable(text)}\n    ${printable(reason)}`,
    })),
    ...notes.map(({ line, text, reason }) => ({
      line,
      text: `${out.paint("yellow", "\u25c6")} line ${line}: has no effect: ${printable(text)}\n    ${printable(reason)}`,
    })),
  ];
  for (const { text } of lines.sort((a, b) => a.line - b.line)) out.line(text);
  if (dryRun && added !== "") {
    out.line();
    out.write(added);
  }
  out.line();
  const rest = refused.length === 0 ? "" : `, ${counted(refused.length, "row")} not imported`;
  const where = jobs.length === 0 ? "" : dryRun ? ` would be added to ${path}` : ` added to ${path}`;
  out.line(`${counted(jobs.length, "job")}${where}${rest}.`);
  if (!dryRun && jobs.length > 0) out.line("Remove the rows from the crontab, so that they do not run twice.");
}
