/** Jobs of millrace.toml for the rows of a crontab. */
import type { CrontabCommand, CrontabReason, CrontabRow } from "./crontab.ts";

export interface ImportedJob {
  line: number;
  name: string;
  /** The table [jobs.NAME]. */
  toml: string;
}

export interface CrontabImport {
  jobs: ImportedJob[];
  /** Rows that are not imported. */
  refused: CrontabReason[];
  /** Rows that have no effect here. */
  notes: CrontabReason[];
}

export interface ImportOptions {
  /** The user whose rows of a system crontab are imported: jobs run as the user of the server. */
  user: string;
  /** Where cron starts commands without HOME in the crontab. */
  home: string;
  /** Names of jobs that exist. */
  taken: ReadonlySet<string>;
  /** Why the server would refuse a schedule; null if it does not. */
  scheduleError(cron: string, timezone: string | null): string | null;
}

const SHELL_DEFAULT = "/bin/sh";
const NAME_CHARS_MAX = 40;
/** Commands that only prepare the one that a name should be of. */
const PREPARING = new Set(["cd", "test", "[", "if", "export", "umask", "sleep"]);
/** Programs that run another one. */
const RUNNING = new Set(["nice", "ionice", "nohup", "sudo", "env", "exec", "chronic", "timeout", "setsid"]);

export function jobsOf(rows: readonly CrontabRow[], options: ImportOptions): CrontabImport {
  const found: CrontabImport = { jobs: [], refused: [], notes: [] };
  const taken = new Set(options.taken);
  for (const row of rows) {
    if (row.kind === "command") importRow(row, options, taken, found);
    else found[row.kind === "note" ? "notes" : "refused"].push(row);
  }
  return found;
}

function importRow(row: CrontabCommand, options: ImportOptions, taken: Set<string>, { jobs, refused }: CrontabImport): void {
  const { line } = row;
  const reason = refusalOf(row, options);
  if (reason !== null) {
    refused.push({ kind: "refused", line, text: `${row.cron} ${row.command}`, reason });
    return;
  }
  const name = freeName(nameOf(row.command), taken);
  taken.add(name);
  jobs.push({ line, name, toml: tableOf(name, row, options) });
}

function refusalOf({ user, cron, env }: CrontabCommand, options: ImportOptions): string | null {
  if (user !== null && user !== options.user)
    return `it runs as ${user}, and a job runs as the user of the server: import it there, or say --user ${user}`;
  return options.scheduleError(cron, env["CRON_TZ"] ?? null);
}

function tableOf(name: string, { cron, dayOr, command, input, env, comment }: CrontabCommand, { home }: ImportOptions): string {
  const { SHELL = SHELL_DEFAULT, HOME = home, CRON_TZ, ...others } = env;
  const variables = {
    ...others,
    ...(env["HOME"] === undefined ? {} : { HOME }),
    ...(env["SHELL"] === undefined ? {} : { SHELL }),
  };
  const lines = [
    `[jobs.${keyOf(name)}]`,
    ...(comment === null ? [] : [`description = ${text(comment)}`]),
    `run = ${text(command)}`,
    `cron = ${text(cron)}`,
    ...(dayOr ? [] : ["day_or = false"]),
    ...(CRON_TZ === undefined ? [] : [`timezone = ${text(CRON_TZ)}`]),
    `cwd = ${text(HOME)}`,
    ...(SHELL === SHELL_DEFAULT ? [] : [`shell = ${text(SHELL)}`]),
    ...(input === null ? [] : [`input = ${text(input)}`]),
    ...(Object.keys(variables).length === 0 ? [] : [`env = ${inlineTable(variables)}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function inlineTable(values: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(values)
    .map(([name, value]) => `${keyOf(name)} = ${text(value)}`)
    .join(", ")} }`;
}

function keyOf(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : text(name);
}

/** A basic string of TOML, which has the escapes of JSON and refuses DEL. */
function text(value: string): string {
  return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
}

/** A name from the program of a command: `/usr/bin/backup.sh -q` is "backup". */
function nameOf(command: string): string {
  for (const part of command.split(/&&|\|\||;|\|/)) {
    const words = part.split(/[\s(){}!]+/).filter((word) => word !== "" && !/^\w+=/.test(word) && !/^[-0-9"'$>/&]*$/.test(word));
    if (PREPARING.has(words[0] ?? "")) continue;
    const program = words.find((word) => !word.startsWith("-") && !RUNNING.has(word)) ?? "";
    const name = (program.split("/").at(-1) ?? "")
      .replace(/\.\w+$/, "")
      .replace(/[^A-Za-z0-9_-]+/g, "-")
      .replace(/^-+|-+$/g, "");
    if (name !== "") return name.slice(0, NAME_CHARS_MAX);
  }
  return "job";
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`;
}
