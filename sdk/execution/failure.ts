import { inspect } from "node:util";

/** Longest state message in characters, because lists show it. */
const MESSAGE_CHARS_MAX = 4_000;

/** Longest name of an error's class in characters, a generous bound. */
const EXCEPTION_CHARS_MAX = 200;

/** Longest traceback in characters: enough for a deep stack with its causes. */
const TRACEBACK_CHARS_MAX = 64_000;

/**
 * Throw this in user code to end a task or a flow as Failed without further retries.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Abort, flow } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const strict = flow("strict", { retries: 5 }, async () => {
 *   throw new Abort("the input is empty");
 * });
 *
 * const { state } = await runFlow(strict);
 * assert.equal(state.type, "Failed");
 * ```
 */
export class Abort extends Error {
  override name = "Abort";
}

/**
 * A task attempt or a run exceeded its `timeout`.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, sleep, TimedOut, task } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const slow = task("slow", { timeout: "1s" }, async () => {
 *   await sleep("4s");
 *   return "an answer";
 * });
 * const patient = flow("patient", async () => {
 *   try {
 *     return await slow();
 *   } catch (error) {
 *     if (error instanceof TimedOut) return `no answer within ${error.seconds} s`;
 *     throw error;
 *   }
 * });
 *
 * const { result } = await runFlow(patient);
 * assert.equal(result, "no answer within 1 s");
 * ```
 */
export class TimedOut extends Error {
  override name = "TimedOut";
  /** The limit that was exceeded, in seconds. */
  readonly seconds: number;

  constructor(seconds: number) {
    super(`timed out after ${seconds} s`);
    this.seconds = seconds;
  }
}

/**
 * The run or the task run was cancelled; the reason of aborted signals and of the promises of cancelled task runs.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Cancelled, flow, sleep, task } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const search = task("search", async (place: string) => {
 *   await sleep(place === "near" ? 1 : 4);
 *   return place;
 * });
 * const first = flow("first", async () => {
 *   const [near, far] = [search("near"), search("far")];
 *   const found = await near;
 *   far.cancel("found nearer");
 *   await far.catch((error) => assert.ok(error instanceof Cancelled));
 *   return found;
 * });
 *
 * const { result } = await runFlow(first);
 * assert.equal(result, "near");
 * ```
 */
export class Cancelled extends Error {
  override name = "Cancelled";
}

/**
 * The run pauses for an answer: thrown to leave the function that asked. With the answer the run starts again from its top.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, Paused, Type, waitForInput } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const ask = flow("ask", async () => {
 *   try {
 *     return await waitForInput("How many?", Type.Integer());
 *   } catch (error) {
 *     // Code that catches every error passes this one on.
 *     if (error instanceof Paused) throw error;
 *     return 0;
 *   }
 * });
 *
 * const { result } = await runFlow(ask, {}, { answers: [3] });
 * assert.equal(result, 3);
 * ```
 */
export class Paused extends Error {
  override name = "Paused";
}

/** An error as recorded in a Failed state. */
export interface FailureRecord {
  /** `Name: text`. */
  message: string;
  /** The error's class name. */
  exception: string;
  /** Its stack, with causes. */
  traceback: string;
}

/** True for an Abort of any copy of this package. */
export function isAbort(error: unknown): boolean {
  return isNamed(error, "Abort");
}

/** True for a Paused of any copy of this package. */
export function isPaused(error: unknown): boolean {
  return isNamed(error, "Paused");
}

function isNamed(error: unknown, name: string): boolean {
  return readable(() => error instanceof Error && error.name === name) ?? false;
}

/** The record of any thrown value, including values that are not an Error, and errors that throw when they are read. */
export function describeFailure(error: unknown): FailureRecord {
  const exception = (readable(() => nameOf(error)) ?? "").slice(0, EXCEPTION_CHARS_MAX) || "Error";
  const text = readable(() => textOf(error)) ?? UNREADABLE;
  const message = text === "" ? exception : `${exception}: ${text}`;
  const traceback = readable(() => (error instanceof Error ? withoutOwnFrames(stackWithCauses(error)) : message)) ?? message;
  return { message: message.slice(0, MESSAGE_CHARS_MAX), exception, traceback: traceback.slice(0, TRACEBACK_CHARS_MAX) };
}

const UNREADABLE = "the error cannot be shown, because it throws when it is read";

/** The thrown value, or an Error in place of a proxy that does not even say whether it is an Error, such as a revoked one. */
export function readableError(thrown: unknown): unknown {
  return readable(() => thrown instanceof Error) === undefined ? new Error(UNREADABLE) : thrown;
}

/** What is read of a thrown value, undefined when reading throws, as a proxy or a getter may. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Depth to which an error is written out with its causes and properties: a property may be a whole HTTP response. */
const INSPECTED_DEPTH = 4;

/** The first lines of causes are included even if the causes are nested deeper than the inspected depth. */
function stackWithCauses(error: Error): string {
  const chain: Error[] = [error];
  for (let { cause } = error; cause instanceof Error && !chain.includes(cause); { cause } = cause) chain.push(cause);
  const text = inspect(error, { depth: INSPECTED_DEPTH });
  const innermost = chain.length > INSPECTED_DEPTH + 2 ? chain.at(-1) : undefined;
  return innermost === undefined ? text : `${text}\n[innermost cause]: ${inspect(innermost, { depth: INSPECTED_DEPTH })}`;
}

/** The directory of this package's own frames, which do not help a user. */
const OWN_FILES = new URL("../", import.meta.url).href;

function withoutOwnFrames(stack: string): string {
  const kept: string[] = [];
  for (const line of stack.split("\n")) {
    const own = /^\s+at /.test(line) && (line.includes(OWN_FILES) || line.includes("node:internal/"));
    if (!own) kept.push(line);
    // After the last frame come the properties of the error, including its cause.
    else if (line.endsWith(" {")) kept.push(`${kept.pop() ?? ""} {`);
  }
  return kept.join("\n");
}

/** Empty for a class without a name. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const name: unknown = error.name === "Error" ? error.constructor.name : error.name;
  return typeof name === "string" ? name : "";
}

function textOf(error: unknown): string {
  const text: unknown = error instanceof Error ? error.message : error;
  return typeof text === "string" ? text : inspect(text, { depth: 3 });
}
