/** The flows of the tables [jobs.NAME] in millrace.toml: each runs a command. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type CommandOptions, exec, runCommand } from "../commands/exec.ts";
import { noteWarning } from "../define/declaration-notes.ts";
import { type Flow, flow } from "../define/flow.ts";
import type { FlowOptions } from "../define/flow-options.ts";
import type { JsonSchema } from "../define/parameters.ts";
import { cron, every, type ScheduleDeclaration } from "../define/schedules.ts";
import type { Job } from "./job-keys.ts";
import { readJobs } from "./read-jobs.ts";

const SHELL = "/bin/sh";

/**
 * The flows of a file, by name.
 * @throws Error that names every bad setting with its line
 */
export function jobFlows(path: string): Record<string, Flow<Record<string, unknown>, { code: number }>> {
  const { jobs, problems, warnings } = readJobs(readFileSync(path, "utf8"));
  if (problems.length > 0) throw new Error(problems.join("; "));
  for (const warning of warnings) noteWarning(warning);
  const folder = dirname(path);
  return Object.fromEntries([...jobs].map(([name, job]) => [name, jobFlow(name, job, folder)]));
}

function jobFlow(name: string, job: Job, folder: string): Flow<Record<string, unknown>, { code: number }> {
  const options: FlowOptions<JsonSchema> & { parameters: JsonSchema } = {
    parameters: parametersOf(job),
    schedules: schedulesOf(job),
    ...(job.description === undefined ? {} : { description: job.description }),
    ...(job.tags === undefined ? {} : { tags: job.tags }),
    ...(job.timeout === undefined ? {} : { timeout: job.timeout }),
    ...(job.retries === undefined ? {} : { retries: job.retries }),
    ...(job.retry_delay === undefined ? {} : { retryDelay: job.retry_delay }),
    ...(job.resources === undefined ? {} : { resources: job.resources }),
    ...(job.max_concurrent === undefined ? {} : { maxConcurrent: job.max_concurrent }),
    ...(job.on_overlap === undefined ? {} : { maxConcurrent: job.max_concurrent ?? 1, onOverlap: job.on_overlap }),
  };
  const run = (parameters: Record<string, unknown>) => runJob(job, parameters, folder);
  return flow(name, options, run as never) as Flow<Record<string, unknown>, { code: number }>;
}

async function runJob(job: Job, parameters: Record<string, unknown>, folder: string): Promise<{ code: number }> {
  const options: CommandOptions = {
    cwd: resolve(folder, job.cwd ?? "."),
    env: { ...textsOf(job.env ?? {}), ...textsOf(parameters) },
    ok: job.ok ?? 0,
    ...(job.input === undefined ? {} : { input: job.input }),
  };
  const { run } = job;
  if (typeof run === "string") return { code: (await runCommand(job.shell ?? SHELL, ["-c", run], options, run)).code };
  const [file = "", ...args] = run;
  return { code: (await exec(file, args, options)).code };
}

/** Values as environment variables: texts as they are, others as JSON. */
function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

function schedulesOf({ cron: crons = [], day_or: dayOr = true, every: interval, timezone, catchup }: Job): ScheduleDeclaration[] {
  const policy = { ...(timezone === undefined ? {} : { timezone }), ...(catchup === undefined ? {} : { catchup }) };
  const expressions = typeof crons === "string" ? [crons] : crons;
  return [
    ...expressions.map((expression, index) =>
      cron(expression, { ...policy, dayOr, key: index === 0 ? "cron" : `cron-${index + 1}` }),
    ),
    ...(interval === undefined ? [] : [every(interval, { ...policy, key: "every" })]),
  ];
}

/** A default stands for the schema of its type. */
function parametersOf({ parameters = {} }: Job): JsonSchema {
  const properties = Object.entries(parameters).map(([name, value]) => {
    if (typeof value === "object") return [name, value] as const;
    const type = Number.isInteger(value) ? "integer" : typeof value;
    return [name, { type, default: value }] as const;
  });
  const required = properties.filter(([, schema]) => !("default" in schema)).map(([name]) => name);
  return { type: "object", properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) };
}
