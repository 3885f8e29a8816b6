/** Reads the tables [jobs.NAME] of a millrace.toml. */
import { parse, TomlError } from "smol-toml";
import { nearestName } from "#protocol/values/nearest-name";
import { validate } from "#protocol/values/validate";
import { JOB_KEYS, type Job, type JobKey } from "./job-keys.ts";
import { lineOf } from "./toml-lines.ts";

/** Characters of a value in a message. */
const SHOWN_MAX = 60;

export interface ReadJobs {
  jobs: Map<string, Job>;
  /** Settings that make a job unusable, one line each, with the line of the file. */
  problems: string[];
  /** Unknown keys. */
  warnings: string[];
}

/** @param text of the file */
export function readJobs(text: string): ReadJobs {
  const found: ReadJobs = { jobs: new Map(), problems: [], warnings: [] };
  let document: Record<string, unknown>;
  try {
    document = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem = "not valid TOML"] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    found.problems.push(`line ${error.line}, column ${error.column}: ${problem}`);
    return found;
  }
  const { jobs = {} } = document;
  if (!isTable(jobs)) found.problems.push(at(text, ["jobs"], "jobs must be tables: [jobs.NAME]"));
  else for (const [name, table] of Object.entries(jobs)) readJob(text, name, table, found);
  return found;
}

function readJob(text: string, name: string, table: unknown, found: ReadJobs): void {
  const problem = (path: readonly string[], what: string) => found.problems.push(at(text, ["jobs", name, ...path], what));
  const shown = `[jobs.${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}]`;
  if (name === "") return void problem([], "a job needs a name: [jobs.NAME]");
  if (!isTable(table)) return void problem([], `${shown} must be a table`);
  const before = found.problems.length;
  for (const [key, value] of Object.entries(table)) {
    if (!Object.hasOwn(JOB_KEYS, key)) {
      const nearest = nearestName(key, Object.keys(JOB_KEYS));
      const advice = nearest === null ? "" : `; did you mean "${nearest}"?`;
      found.warnings.push(at(text, ["jobs", name, key], `${shown} has the unknown key "${key}", which does nothing${advice}`));
      continue;
    }
    const { schema, expected }: JobKey = JOB_KEYS[key as keyof typeof JOB_KEYS];
    table[key] = withoutDates(value);
    if (!validate(schema, table[key]).ok) problem([key], `${shown} ${key} must be ${expected}, not ${short(value)}`);
  }
  if (!Object.hasOwn(table, "run")) problem([], `${shown} needs run: the command`);
  if (table["every"] !== undefined && Number.parseFloat(String(table["every"])) === 0)
    problem(["every"], `${shown} every must be above zero`);
  if (found.problems.length === before) found.jobs.set(name, table as unknown as Job);
}

/** A date of TOML is taken as the text in which it is written. */
function withoutDates(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (!isTable(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, entry instanceof Date ? entry.toISOString() : entry]),
  );
}

function short(value: unknown): string {
  const written = JSON.stringify(value) ?? String(value);
  return written.length > SHOWN_MAX ? `${written.slice(0, SHOWN_MAX)}...` : written;
}

function at(text: string, path: readonly string[], what: string): string {
  const line = lineOf(text, path);
  return line === null ? what : `line ${line}: ${what}`;
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
