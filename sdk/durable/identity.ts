/**
 * Which stored step or wait a call asks for. Its identity consists of its callers, its name, and its key or the hash of its
 * arguments; equal calls of one caller are numbered. So a flow that begins again finds its results in whatever order it asks.
 */
import { createHash } from "node:crypto";
import { encodeValue, NotStorableError } from "./values.ts";

/** 128 bits as hexadecimal digits. */
const IDENTITY_CHARS = 32;

export interface CallIdentity {
  identity: string;
  /** What remains of the identity when the arguments change. */
  place: string;
}

/** What calls steps and waits: the flow, a flow called inside it, or a task. */
export interface Caller extends CallIdentity {
  /** How often this caller has made the same call. */
  readonly counts: Map<string, number>;
}

/** The flow of the run: at the begin of an attempt it has made no call. */
export function rootCaller(): Caller {
  return { identity: "", place: "", counts: new Map() };
}

export function callerOf({ identity, place }: CallIdentity): Caller {
  return { identity, place, counts: new Map() };
}

/** The identity of a call with a key: the same key is the same call, however often it is made. */
export function keyedCall(caller: Caller, name: string, key: string): CallIdentity {
  return { identity: hashOf([caller.identity, name, "key", key]), place: hashOf([caller.place, name]) };
}

/**
 * The identity of a call by its arguments.
 * @param what names the call in the error
 * @throws TypeError for arguments without a stable text
 */
export function numberedCall(caller: Caller, name: string, args: readonly unknown[], what: string): CallIdentity {
  const call = hashOf([caller.identity, name, "arguments", textOf(args, what)]);
  const count = caller.counts.get(call) ?? 0;
  caller.counts.set(call, count + 1);
  return { identity: count === 0 ? call : hashOf([call, String(count)]), place: hashOf([caller.place, name]) };
}

/** The identity of something that belongs to a call: its failure, or a question that is asked again. */
export function belongingTo(identity: string, ...parts: string[]): string {
  return hashOf([identity, ...parts]);
}

function textOf(args: readonly unknown[], what: string): string {
  try {
    return encodeValue(args, { sorted: true, root: "arguments" });
  } catch (error) {
    if (!(error instanceof NotStorableError)) throw error;
    const path = error.message.replace(/, which cannot be stored$/, "");
    throw new TypeError(`${what} of a durable flow is recognised by its arguments, but ${path}: give it a key`, { cause: error });
  }
}

function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, IDENTITY_CHARS);
}
