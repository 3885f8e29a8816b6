/** Responses: the only place where an outcome becomes HTTP. Every error is `{error}` as JSON. */

import { type Refusal, refuse } from "#protocol/errors";
import type { RouteResponse } from "#protocol/routes/custom-route";
import type { Exchange, HeaderList } from "../transport/transport-port.ts";

/** Headers of every API response: browsers must not guess another type or show the response to pages of other sites. */
export const API_HEADERS: HeaderList = ["x-content-type-options", "nosniff", "cross-origin-resource-policy", "same-origin"];
const JSON_HEADERS: HeaderList = ["content-type", "application/json", ...API_HEADERS];
/** An actor restarts within a second, and a limited client may send again by then. */
const RETRY_HEADERS: HeaderList = [...JSON_HEADERS, "retry-after", "1"];

/** Sends a response whose body is already JSON text; null for no body. */
export function reply(exchange: Exchange, status: number, body: string | Uint8Array | null): void {
  exchange.respond(status, body === null ? API_HEADERS : headersOf(status), body);
}

/** Begins a JSON response in parts; false: wait until the connection has taken this part. */
export function beginReply(exchange: Exchange, first: string | Uint8Array): boolean {
  // Between two parts, a space has no meaning in JSON.
  return exchange.begin(200, JSON_HEADERS, first, " ");
}

/** Sends a refusal. With `close` the connection ends too, because the rest of the body is not wanted. */
export function replyRefusal(exchange: Exchange, refusal: Refusal, close = false): void {
  exchange.respond(refusal.status, headersOf(refusal.status), refusal.body(), close);
}

function headersOf(status: number): HeaderList {
  return status === 503 || status === 429 ? RETRY_HEADERS : JSON_HEADERS;
}

/** Metrics as text, of the media type that the scraper asked for. */
export function replyMetrics(exchange: Exchange, type: string, body: string): void {
  exchange.respond(200, ["content-type", type, ...API_HEADERS], body);
}

/** Passes on the refusal of a request that the gateway made to itself; its body is JSON text. */
export function replyRefused(exchange: Exchange, status: number, body: string): void {
  exchange.respond(status, headersOf(status), body);
}

/** The answer to an MCP message, with the id of the session it opened, if any. */
export function replyMessage(exchange: Exchange, body: string, session: string | null = null): void {
  exchange.respond(200, session === null ? JSON_HEADERS : [...JSON_HEADERS, "mcp-session-id", session], body);
}

/** Success without content. */
export function replyNothing(exchange: Exchange, status: 202 | 204): void {
  exchange.respond(status, API_HEADERS, null);
}

/** The response of a custom route's handler. */
export function replyResponse(exchange: Exchange, { status, headers, body }: RouteResponse): void {
  exchange.respond(status, headers, body);
}

/** The path exists, the method does not. */
export function replyMethodNotAllowed(exchange: Exchange, allow: string): void {
  exchange.respond(405, [...JSON_HEADERS, "allow", allow], refuse("method_not_allowed", allow).body());
}

/** The methods that a path supports. */
export function replyOptions(exchange: Exchange, allow: string): void {
  exchange.respond(204, ["allow", allow, ...API_HEADERS], null);
}

/** A file of the dashboard, or 304 for an unchanged file, or the document with 404 for an unknown page. */
export function replyFile(
  exchange: Exchange,
  status: 200 | 304 | 404,
  headers: HeaderList,
  body: string | Uint8Array | null,
): void {
  exchange.respond(status, headers, body);
}

/** A defect of the server: the client only gets the id of the log entry. */
export function replyDefect(exchange: Exchange, id: string): void {
  replyRefusal(exchange, refuse("internal", id));
}
