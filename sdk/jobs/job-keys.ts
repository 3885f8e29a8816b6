/** The keys of [jobs.NAME] in millrace.toml. The reference and the JSON Schema of the file are generated from this. */
import Type, { type Static } from "typebox";
import { CATCHUP_POLICIES } from "#protocol/records/schedule";

const Words = Type.Array(Type.String({ minLength: 1 }), { minItems: 1 });
const Text = Type.String({ minLength: 1 });
const Duration = Type.Union([Type.Number({ minimum: 0 }), Type.String({ pattern: "^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)?\\s*$" })]);
const Plain = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const ExitCode = Type.Integer({ minimum: 0, maximum: 255 });

function oneOf<Values extends readonly string[]>(values: Values) {
  return Type.Unsafe<Values[number]>({ type: "string", enum: [...values] });
}

/** A name of a shell variable: parameters reach the command under their names. */
const VARIABLE_NAME = "^[A-Za-z_][A-Za-z0-9_]*$";

export interface JobKey<Schema extends Type.TSchema = Type.TSchema> {
  /** For messages: "must be ...". */
  expected: string;
  about: string;
  /** The default, in words. */
  standard: string;
  schema: Schema;
}

function key<Schema extends Type.TSchema>(expected: string, about: string, standard: string, schema: Schema): JobKey<Schema> {
  return { expected, about, standard, schema };
}

const COUNT = "a whole number of at least";
const DURATION = 'a number of seconds, or a text like "30s", "5m", "2h"';

export const JOB_KEYS = {
  run: key(
    "a text, or a list of texts",
    "The command: a text for the shell, or a list of the program and its arguments",
    "needed",
    Type.Union([Text, Words]),
  ),
  cron: key(
    "a text, or a list of texts",
    "When it runs: five fields, or a list of such texts",
    "it runs on demand",
    Type.Union([Text, Words]),
  ),
  day_or: key(
    "true or false",
    "With both day fields of `cron` restricted: one match suffices, or both must match",
    "true",
    Type.Boolean(),
  ),
  every: key(DURATION, "The interval in which it runs, such as `15m`", "none", Duration),
  timezone: key("a text that is not empty", "Zone of `cron`, an IANA name", "the server's zone", Text),
  catchup: key(
    '"skip", "latest" or "all"',
    "What happens to fires missed while the server was down",
    "see `[defaults]`",
    oneOf(CATCHUP_POLICIES),
  ),
  timeout: key(DURATION, "Time limit of one attempt; the command then ends with all its processes", "none", Duration),
  retries: key(`${COUNT} 0`, "How often a command that failed is run again", "0", Type.Integer({ minimum: 0 })),
  retry_delay: key(DURATION, "Delay before each retry", "none", Duration),
  max_concurrent: key(
    `${COUNT} 1`,
    "How many runs of the job may execute at once",
    "no limit; 1 with `on_overlap`",
    Type.Integer({ minimum: 1 }),
  ),
  on_overlap: key(
    '"enqueue", "skip" or "cancel_new"',
    "What happens to a run that is created while `max_concurrent` runs are under way",
    '"enqueue"',
    oneOf(["enqueue", "skip", "cancel_new"] as const),
  ),
  env: key(
    "a table of texts",
    "Environment variables of the command, a table",
    "those of the server",
    Type.Record(Type.String(), Plain),
  ),
  parameters: key(
    "a table whose keys are names of shell variables, and whose values are defaults or JSON Schemas",
    "Parameters of a run, a table: for each its default, or its JSON Schema as a table. The command gets them as environment variables of the same names",
    "none",
    Type.Record(Type.String({ pattern: VARIABLE_NAME }), Type.Union([Plain, Type.Object({})]), { additionalProperties: false }),
  ),
  cwd: key("a text that is not empty", "Working directory, relative to the file", "the folder of the file", Text),
  shell: key("a text that is not empty", "Shell of a text in `run`, called with `-c`", '"/bin/sh"', Text),
  input: key("a text", "Standard input of the command", "none", Type.String()),
  ok: key(
    "an exit code from 0 to 255, or a list of them",
    "Exit codes of success: one, or a list",
    "0",
    Type.Union([ExitCode, Type.Array(ExitCode, { minItems: 1 })]),
  ),
  resources: key(
    "a table of numbers of zero or more",
    "Amounts of named resources that a run holds, a table",
    "none",
    Type.Record(Type.String(), Type.Number({ minimum: 0 })),
  ),
  description: key("a text", "What the job is for", "none", Type.String()),
  tags: key("a list of texts", "Tags of the flow", "[]", Type.Array(Text)),
} as const;

/** A checked table [jobs.NAME]. */
export type Job = { [Name in keyof typeof JOB_KEYS]?: Static<(typeof JOB_KEYS)[Name]["schema"]> } & { run: string | string[] };
