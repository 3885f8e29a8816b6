import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { getCallSites } from "node:util";
import type { Static } from "typebox";
import { callerOf, numberedCall } from "../durable/identity.ts";
import { never } from "../durable/suspension.ts";
import { currentScope, isLeftBehind, type Scope } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";
import { shared } from "../execution/shared-state.ts";
import type { StartOptions, Triggers } from "../execution/started-run.ts";
import { noteFlow } from "./declaration-notes.ts";
import { type FlowOptions, noteFlowOptions, type WireFlowOptions, wireOptions } from "./flow-options.ts";
import { type JsonSchema, ParameterChecker, plainSchema } from "./parameters.ts";
import { triggersOf } from "./triggers.ts";

/** A schema of a library with the interface of Standard Schema. */
interface StandardTyped {
  readonly "~standard": { readonly types?: { readonly input: unknown; readonly output: unknown } | undefined };
}

/**
 * The type of the parameters a schema describes: typebox 1, @sinclair/typebox, a library with the interface of Standard Schema (zod,
 * valibot, arktype), or a JSON Schema literal.
 */
export type ParametersOf<Schema extends object> = Schema extends StandardTyped
  ? NonNullable<Schema["~standard"]["types"]>["output"]
  : Schema extends { static: infer Value }
    ? Value
    : unknown extends Static<Schema>
      ? Record<string, unknown>
      : Static<Schema>;

/** Names of the parameters whose schemas have a default. */
type WithDefault<Properties> = {
  [Name in keyof Properties]: Properties[Name] extends { default: unknown } ? Name : never;
}[keyof Properties];

type Omissible<Values, Names> = Flat<Omit<Values, Names & keyof Values> & Partial<Pick<Values, Names & keyof Values>>>;
type Flat<Fields> = { [Name in keyof Fields]: Fields[Name] };

/**
 * Schemas of this package's `Type` and JSON Schema literals carry defaults in their types; those of a user's own typebox do
 * not.
 */
type SaysDefaults<Schema> = Schema extends { static: unknown }
  ? false
  : "~defaults" extends keyof Schema
    ? true
    : Schema extends { "~kind": string }
      ? false
      : true;

/**
 * The parameters that a call of the flow must pass: every one that is neither optional nor has a default. If the schema's type
 * does not carry defaults, the compiler requires no parameter, and the start of the run checks them.
 */
export type GivenParameters<Schema extends object> = Schema extends StandardTyped
  ? NonNullable<Schema["~standard"]["types"]>["input"]
  : Schema extends { properties: infer Properties }
    ? SaysDefaults<Schema> extends true
      ? Omissible<ParametersOf<Schema>, WithDefault<Properties>>
      : Partial<ParametersOf<Schema>>
    : Partial<ParametersOf<Schema>>;

/**
 * A flow. Called inside a run, it executes as part of that run. Called elsewhere, in a script, it is a run of its own: the
 * server of the home executes the run and the call waits for its end. Without a server the script executes the run itself, and
 * the run is still in the home's history.
 */
export interface Flow<Parameters, Result, Given = Partial<Parameters>> extends Triggers<Given, Result> {
  (...parameters: Record<never, never> extends Given ? [parameters?: Given] : [parameters: Given]): Promise<Result>;
}

/** A declared flow with checked options. */
export interface FlowDefinition {
  name: string;
  /** The option `project`; null means the base name of the served directory. */
  project: string | null;
  options: FlowOptions;
  wire: WireFlowOptions;
  schema: JsonSchema;
  /** Checks and converts parameters before the function is called. */
  checker: ParameterChecker;
  fn: (parameters: Record<string, unknown>) => unknown;
  /** Absolute path of the file that declares the flow, null if unknown. */
  file: string | null;
}

const DEFINITION = Symbol.for("millrace.flow");

/** Stack frames between a call of flow() and the point that inspects its caller: declaringFile and declareFlow. */
const DECLARED_ABOVE = 2;

interface DeclareFlow {
  <Result>(name: string, fn: (parameters: Record<string, never>) => Result): Flow<Record<string, never>, Awaited<Result>>;
  <const Schema extends object, Result>(
    name: string,
    options: FlowOptions<Schema> & { parameters: Schema },
    fn: (parameters: ParametersOf<Schema>) => Result,
  ): Flow<ParametersOf<Schema>, Awaited<Result>, GivenParameters<Schema>>;
  <Result>(
    name: string,
    options: FlowOptions,
    fn: (parameters: Record<string, never>) => Result,
  ): Flow<Record<string, never>, Awaited<Result>>;
}

/**
 * Declares a flow: `flow(name, options?, fn)`. Export the flow so that the server finds it.
 * @throws TypeError, RangeError for a missing name or function and for options out of range.
 * @example
 * ```ts
 * import { flow, Type } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * export const greeting = flow(
 *   "greeting",
 *   { parameters: Type.Object({ name: Type.String({ default: "world" }) }), retries: 2 },
 *   async ({ name }) => `Hello, ${name}`,
 * );
 *
 * const { result } = await runFlow(greeting, { name: "Ada" });
 * console.assert(result === "Hello, Ada");
 * ```
 */
export const flow: DeclareFlow = declareFlow as DeclareFlow;

type FlowFunction = (parameters: Record<string, unknown>) => unknown;

function declareFlow(
  name: string,
  ...rest: [FlowFunction] | [FlowOptions, FlowFunction]
): Flow<Record<string, unknown>, unknown> {
  const [options, fn] = rest.length === 1 ? [{}, rest[0]] : rest;
  if (typeof name !== "string" || name === "") throw new TypeError("a flow needs a name: flow(name, options?, fn)");
  if (typeof fn !== "function") throw new TypeError(`flow "${name}" needs a function: flow(name, options?, fn)`);
  if (isGenerator(fn)) throw new TypeError(`flow "${name}" has a generator, whose code nothing would execute: leave out the *`);
  noteFlow(name);
  noteFlowOptions(name, options);
  const file = declaringFile();
  const schema = plainSchema(options.parameters, `parameters of flow "${name}"`, file);
  const definition: FlowDefinition = {
    name,
    project: options.project ?? null,
    options,
    wire: wireOptions(options),
    schema,
    checker: new ParameterChecker(schema, options.parameters),
    fn,
    file,
  };
  const call = (parameters: Record<string, unknown> = {}) => callFlow(definition, parameters);
  Object.defineProperty(call, "name", { value: name });
  const outside = {
    start: async (...given: [readonly Record<string, unknown>[], StartOptions]) =>
      (await import("../script/start-runs.ts")).startFromOutside(definition, ...given),
    runHere: async (...given: [Record<string, unknown>, StartOptions]) =>
      (await import("../script/run-from-script.ts")).runFromScript(definition, ...given),
  };
  Object.assign(call, triggersOf(definition, call, outside));
  return Object.defineProperty(call as Flow<Record<string, unknown>, unknown>, DEFINITION, { value: definition });
}

/** The definition behind a value returned by flow(), also of another copy of this package; else undefined. */
export function definitionOf(value: unknown): FlowDefinition | undefined {
  if (typeof value !== "function" || !(DEFINITION in value)) return undefined;
  return value[DEFINITION] as FlowDefinition;
}

/** The file of the code that called flow(). */
function declaringFile(): string | null {
  const name = getCallSites(DECLARED_ABOVE + 1)[DECLARED_ABOVE]?.scriptName;
  if (name === undefined) return null;
  return name.startsWith("file:") ? fileURLToPath(name) : isAbsolute(name) ? name : null;
}

async function callFlow(definition: FlowDefinition, parameters: Record<string, unknown>): Promise<unknown> {
  const scope = currentScope();
  if (scope !== undefined) return await callInside(scope, definition, parameters);
  if (isLeftBehind()) return await never();
  if (shared.suppressed !== null) {
    process.stderr.write(`millrace: the call of flow "${definition.name}" outside a run is ignored (${shared.suppressed})\n`);
    return undefined;
  }
  const { runFromScript } = await import("../script/run-from-script.ts");
  return await runFromScript(definition, parameters);
}

const WARNING = 30;

/** A call inside a run executes as part of that run. Its steps are its own, also beside those of other calls. */
async function callInside(scope: Scope, definition: FlowDefinition, parameters: Record<string, unknown>): Promise<unknown> {
  const { run, task } = scope;
  warnOfIgnored(scope, definition);
  const prepared = await definition.checker.prepare(parameters);
  if (run.durable === null) return await definition.fn(prepared);
  const call = numberedCall(
    scope.caller ?? run.durable.root,
    `flow:${definition.name}`,
    [parameters],
    `flow "${definition.name}"`,
  );
  return await shared.scope.run({ run, task, caller: callerOf(call) }, async () => definition.fn(prepared));
}

/** Warns once of options that only a run of its own has. */
function warnOfIgnored({ run, task }: Scope, definition: FlowDefinition): void {
  const { name, wire } = definition;
  if (warned.has(definition)) return;
  const ignored = [
    ...(wire.retries > 0 ? ["retries"] : []),
    ...(wire.timeout_seconds === null ? [] : ["timeout"]),
    ...(Object.keys(wire.resources).length === 0 ? [] : ["resources"]),
  ];
  if (ignored.length === 0) return;
  warned.add(definition);
  const text = `flow "${name}" executes as part of the run that calls it, without its ${ignored.join(", ")}; child() makes a run of its own`;
  writeLog(run, task?.externalId ?? null, WARNING, "millrace.run", text);
}

const warned = new WeakSet<FlowDefinition>();

function isGenerator(fn: object): boolean {
  return /GeneratorFunction\]$/.test(Object.prototype.toString.call(fn));
}
