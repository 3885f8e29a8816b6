/**
 * Why a call failed: the server refused it, no server answered, the connection broke, the timeout passed, or a run's result was
 * not kept.
 */
export type FailureReason = "refused" | "unreachable" | "cut" | "timeout" | "result-too-large" | "result-not-json";

/** What is known about a failed request. */
export interface Failure {
  /** Why the call failed. */
  reason: FailureReason;
  /** HTTP status; 0 without an answer. */
  status: number;
  /** Method of the request. */
  method?: string;
  /** Path of the request. */
  path?: string;
  /** The answer's JSON body, or its text if that is not JSON; null without a body. */
  body?: unknown;
  /** The error below this one, such as that of the connection. */
  cause?: unknown;
}

/**
 * Every failure of the client. `message` is the server's own text where it sent one. For a refused transition or resume, `body`
 * holds the run's current state.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { Millrace, MillraceError } from "millrace/client";
 *
 * const client = new Millrace();
 * try {
 *   await client.runs.create({ project: "shop", flow: "greeting", parameters: { name: 7 } });
 * } catch (error) {
 *   assert.ok(error instanceof MillraceError);
 *   assert.equal(error.reason, "refused");
 *   assert.equal(error.status, 422);
 * }
 * ```
 */
export class MillraceError extends Error {
  override readonly name = "MillraceError";
  /** Why the call failed. */
  readonly reason: FailureReason;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /** Method of the request; null for a failure without one. */
  readonly method: string | null;
  /** Path of the request; null for a failure without one. */
  readonly path: string | null;
  /** The answer's JSON body, or its text if that is not JSON; null without a body. */
  readonly body: unknown;

  constructor(message: string, failure: Failure) {
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.reason = failure.reason;
    this.status = failure.status;
    this.method = failure.method ?? null;
    this.path = failure.path ?? null;
    this.body = failure.body ?? null;
  }
}

/** The error for an answer of 400 or more; its text comes from an `{error}` body. */
export function refusal(method: string, path: string, status: number, text: string): MillraceError {
  const body = parsed(text);
  const told =
    typeof body === "object" && body !== null && "error" in body && typeof body.error === "string" ? body.error : text.trim();
  return new MillraceError(told === "" ? `${method} ${path} was answered with ${status}` : told, {
    reason: "refused",
    status,
    method,
    path,
    body,
  });
}

function parsed(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}
