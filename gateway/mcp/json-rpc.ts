/** JSON-RPC 2.0 as text: reads messages and writes answers. Keys are sorted. */

import { isRpcId, RPC_ERROR } from "#protocol/mcp/mcp";
import { canonicalJson, parseKeepingFractions } from "#protocol/values/json";
import { SENT_JSON } from "#protocol/values/json-scan";

/** Text, a number, or null; returned unchanged. */
export type RpcId = unknown;

export interface RpcError {
  code: number;
  message: string;
}

/** The outcome of a method. */
export type RpcOutcome = { result: unknown } | { error: RpcError };

export type RpcMessage =
  | { kind: "request"; id: RpcId; method: string; params: Readonly<Record<string, unknown>> }
  /** Gets no answer. */
  | { kind: "notification" }
  /** Cannot be parsed; `answer` is the error to return. */
  | { kind: "unreadable"; answer: string };

const NO_PARAMS = {};

export function readMessage(text: string): RpcMessage {
  let message: unknown;
  try {
    message = parseKeepingFractions(text, SENT_JSON);
  } catch (cause) {
    return unparsable(cause instanceof Error ? cause.message : "unreadable");
  }
  if (Array.isArray(message)) return invalid(null, "batches are not supported; send one message per request");
  if (!isObject(message) || !Object.hasOwn(message, "id")) return { kind: "notification" };
  const { jsonrpc, id, method, params } = message;
  // A response to a server request. This server sends none, so treat it as a notification.
  if (method === undefined && ("result" in message || "error" in message)) return { kind: "notification" };
  if (!isRpcId(id)) return invalid(null, "id must be a string, a number or null");
  if (jsonrpc !== "2.0") return invalid(id, 'jsonrpc must be "2.0"');
  if (typeof method !== "string") return invalid(id, "method must be a string");
  return { kind: "request", id, method, params: isObject(params) ? params : NO_PARAMS };
}

/** The answer to a body that is not JSON. */
export function unparsable(why: string): RpcMessage & { kind: "unreadable" } {
  return { kind: "unreadable", answer: writeAnswer(null, rpcError("parse", `the message is not valid JSON: ${why}`)) };
}

export function rpcError(code: keyof typeof RPC_ERROR, message: string): { error: RpcError } {
  return { error: { code: RPC_ERROR[code], message } };
}

/** An answer as JSON text, on one line. */
export function writeAnswer(id: RpcId, outcome: RpcOutcome): string {
  return canonicalJson({ jsonrpc: "2.0", id, ...outcome });
}

function invalid(id: RpcId, why: string): RpcMessage {
  return { kind: "unreadable", answer: writeAnswer(id ?? null, rpcError("invalid_request", why)) };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
