/**
 * Reads crontabs as cron does: the language of crontab(5) of Vixie cron and cronie, with the user column of /etc/crontab. Every
 * row becomes a command or a reason why it cannot be imported.
 */

/** A row that runs a command. */
export interface CrontabCommand {
  kind: "command";
  line: number;
  /** Five fields, or a macro such as @daily. */
  cron: string;
  /** Day of month or day of week; false where cron requires both, because one of them begins with an asterisk. */
  dayOr: boolean;
  /** Of a system crontab. */
  user: string | null;
  command: string;
  /** What follows the first unescaped per cent sign. */
  input: string | null;
  /** Environment set by the rows above. */
  env: Readonly<Record<string, string>>;
  /** The comment directly above. */
  comment: string | null;
}

/** A row that is not imported, or of which a part is not. */
export interface CrontabReason {
  kind: "refused" | "note";
  line: number;
  text: string;
  reason: string;
}

export type CrontabRow = CrontabCommand | CrontabReason;

const MACROS = new Set(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"]);

/** Variables with a meaning for cron itself, and why they have none here. */
const NOTES: Readonly<Record<string, string>> = {
  MAILTO: "output goes to the log of the run, and no mail is sent: a rule with an `email` action does that",
  MAILFROM: "no mail is sent: a rule with an `email` action does that",
  RANDOM_DELAY: "jobs are not delayed at random",
  CONTENT_TYPE: "no mail is sent",
  CONTENT_TRANSFER_ENCODING: "no mail is sent",
  START_HOURS_RANGE: "it is a setting of anacron",
  LOGNAME: "cron does not let a crontab set it",
};

interface FieldSpec {
  name: string;
  min: number;
  max: number;
  names: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: readonly FieldSpec[] = [
  { name: "minute", min: 0, max: 59, names: [] },
  { name: "hour", min: 0, max: 23, names: [] },
  { name: "day of month", min: 1, max: 31, names: [] },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of week", min: 0, max: 7, names: WEEKDAYS },
];

const ENVIRONMENT = /^\s*(?:"([^"]*)"|'([^']*)'|([^\s="']+))\s*=\s*(.*?)\s*$/;

/** @param system whether each row names a user, as in /etc/crontab and /etc/cron.d */
export function readCrontab(text: string, system: boolean): CrontabRow[] {
  const rows: CrontabRow[] = [];
  let env: Record<string, string> = {};
  let comment: string | null = null;
  for (const [at, raw] of text.split("\n").entries()) {
    const line = at + 1;
    const row = raw.replace(/\r$/, "").trim();
    const above = comment;
    comment = null;
    if (row.startsWith("#")) comment = commentOf(row);
    else if (row !== "") {
      const set = ENVIRONMENT.exec(row);
      if (set === null) rows.push(readRow(row, line, system, env, above));
      else {
        const name = set[1] ?? set[2] ?? set[3] ?? "";
        const reason = NOTES[name];
        if (reason === undefined) env = { ...env, [name]: unquoted(set[4] ?? "") };
        else if (name !== "MAILTO" || !/^(?:""|'')?$/.test(set[4] ?? ""))
          rows.push({ kind: "note", line, text: row, reason: `${name}: ${reason}` });
      }
    }
  }
  return rows;
}

function readRow(
  row: string,
  line: number,
  system: boolean,
  env: Readonly<Record<string, string>>,
  comment: string | null,
): CrontabRow {
  const refused = (reason: string): CrontabReason => ({ kind: "refused", line, text: row, reason });
  // A hyphen before the row keeps cron from logging it.
  const { cron, rest, error } = row.startsWith("@") ? readMacro(row) : readFields(row.replace(/^-/, ""));
  if (error !== null) return refused(error);
  const [, user = null, command = ""] = system ? (/^(\S+)\s*(.*)$/.exec(rest) ?? []) : [rest, null, rest];
  if (command === "") return refused(system ? "it has no command behind the user" : "it has no command");
  if (/^[\d*?][\d*,/?-]*(\s|$)/.test(command) && /^[\d*]/.test(cron))
    return refused(`"${command.split(/\s/)[0]}" looks like a sixth field of time: cron has five`);
  if (/(?:^|[^\\])(?:\\\\)*\\$/.test(command))
    return refused("it ends with a backslash, and rows of a crontab do not go on in the next line");
  const parts = splitInput(command);
  const [, , days = "*", , weekdays = "*"] = cron.split(/\s+/);
  const bothRestricted = days !== "*" && weekdays !== "*" && !cron.startsWith("@");
  const dayOr = !(bothRestricted && (days.startsWith("*") || weekdays.startsWith("*")));
  return { kind: "command", line, cron, dayOr, user, ...parts, env, comment };
}

interface Timed {
  cron: string;
  rest: string;
  error: string | null;
}

function readMacro(row: string): Timed {
  const [, macro = "", rest = ""] = /^(\S+)\s*(.*)$/.exec(row) ?? [];
  const cron = macro.toLowerCase();
  if (cron === "@reboot") return { cron, rest, error: "@reboot: a job runs at times or on demand, not when the machine starts" };
  return { cron, rest, error: MACROS.has(cron) ? null : `${macro} is none of ${[...MACROS].join(", ")}` };
}

function readFields(row: string): Timed {
  const [, cron = "", rest = ""] = /^((?:\S+\s+){4}\S+)\s*(.*)$/.exec(row) ?? [];
  if (cron === "") return { cron, rest, error: "it is neither NAME=VALUE nor five fields of time and a command" };
  const fields = cron.split(/\s+/);
  for (const [index, spec] of FIELDS.entries()) {
    const error = fieldError(fields[index] ?? "", spec);
    if (error !== null) return { cron, rest, error: `${spec.name} "${fields[index]}": ${error}` };
  }
  return { cron: fields.join(" "), rest, error: null };
}

/** Null for a field that cron takes and that means the same here. */
function fieldError(field: string, spec: FieldSpec): string | null {
  for (const item of field.split(",")) {
    const match = /^(\*|[^-/]+)(?:-([^-/]+))?(?:\/(.+))?$/.exec(item);
    if (match === null) return oddity(item, spec) ?? "it is not complete";
    const [, from = "", to, step] = match;
    if (from === "*" && to !== undefined) return "a range begins with a value";
    const [low, high] = [numberOf(from, spec), to === undefined ? null : numberOf(to, spec)];
    if (low === null && from !== "*") return oddity(from, spec) ?? `${from} is not a value from ${spec.min} to ${spec.max}`;
    if (to !== undefined && high === null) return oddity(to, spec) ?? `${to} is not a value from ${spec.min} to ${spec.max}`;
    if (low !== null && high !== null && low > high) return `the range ${from}-${to} runs backwards`;
    if (step === undefined) continue;
    if (!/^\d+$/.test(step) || Number(step) === 0) return `"${step}" is not a step`;
    if (from !== "*" && to === undefined) return "cron ignores a step behind a single value: write a range";
  }
  return null;
}

/** What other programs write in a field, and cron does not know. */
function oddity(item: string, { name, max }: FieldSpec): string | null {
  if (item.includes("~")) return "random times (~) are not supported";
  if (/[lw]$/i.test(item) || /^l/i.test(item))
    return 'cron has no L and W; a job may say L for the last day of month: cron = "0 6 L * *"';
  if (item.includes("#")) return "cron has no #; a job may say so for the n-th weekday of a month";
  if (item === "?") return "cron has no ?";
  if (/^h/i.test(item)) return "H is of Jenkins: cron does not know it";
  return name === "hour" && item === String(max + 1) ? "hours are from 0 to 23" : null;
}

function numberOf(text: string, { min, max, names }: FieldSpec): number | null {
  const named = names.indexOf(text.toLowerCase());
  if (named !== -1) return named + min;
  if (!/^\d+$/.test(text)) return null;
  const value = Number(text);
  return value >= min && value <= max ? value : null;
}

/** The command, and what follows the first per cent sign, in which each further one ends a line. */
function splitInput(command: string): { command: string; input: string | null } {
  const parts = command.split(/(?<!\\)%/).map((part) => part.replaceAll("\\%", "%"));
  const [first = "", ...rest] = parts;
  return { command: first.trim(), input: rest.length === 0 ? null : `${rest.join("\n")}\n` };
}

/** Quotes around a value keep its blanks; nothing is expanded. */
function unquoted(value: string): string {
  const match = /^(["'])(.*)\1$/.exec(value);
  return match?.[2] ?? value;
}

/** A comment that describes; rows that are commented out and rulers do not. */
function commentOf(row: string): string | null {
  const text = row.replace(/^#+\s*/, "").trim();
  if (!/[a-z]{3}/i.test(text) || (/^(?:\S+\s+){4}\S+\s+\S/.test(text) && /^[@*\d]/.test(text))) return null;
  return text;
}
