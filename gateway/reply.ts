/** Answers: the only place where an outcome becomes HTTP. Every error is `{error}` as JSON. */
import type { RouteResponse } from "#protocol/custom-route";
import { type Refusal, refuse } from "#protocol/errors";
import type { Exchange, HeaderList } from "./transport-port.ts";

/** Of every answer of the API: no browser takes it for another type, or shows it to pages of other sites. */
export const API_HEADERS: HeaderList = ["x-content-type-options", "nosniff", "cross-origin-resource-policy", "same-origin"];
const JSON_HEADERS: HeaderList = ["content-type", "application/json", ...API_HEADERS];
/** A second is enough for an actor to be running again. */
const RETRY_HEADERS: HeaderList = [...JSON_HEADERS, "retry-after", "1"];

/** Sends an answer whose body already is JSON text; null is none. */
export function reply(exchange: Exchange, status: number, body: string | Uint8Array | null): void {
  exchange.respond(status, body === null ? API_HEADERS : headersOf(status), body);
}

/** Begins an answer of JSON text in parts; false: the connection has not taken this one. */
export function beginReply(exchange: Exchange, first: string | Uint8Array): boolean {
  // Between two parts, a space means nothing in JSON.
  return exchange.begin(200, JSON_HEADERS, first, " ");
}

/** Says no. With `close` the connection ends too, because the rest of the body is not wanted. */
export function replyRefusal(exchange: Exchange, refusal: Refusal, close = false): void {
  exchange.respond(refusal.status, headersOf(refusal.status), refusal.body(), close);
}

function headersOf(status: number): HeaderList {
  return status === 503 ? RETRY_HEADERS : JSON_HEADERS;
}

/** The answer to an MCP message, and the session it opened. */
export function replyMessage(exchange: Exchange, body: string, session: string | null = null): void {
  exchange.respond(200, session === null ? JSON_HEADERS : [...JSON_HEADERS, "mcp-session-id", session], body);
}

/** Taken, and nothing to say. */
export function replyNothing(exchange: Exchange, status: 202 | 204): void {
  exchange.respond(status, API_HEADERS, null);
}

/** What the handler of a custom route answered. */
export function replyResponse(exchange: Exchange, { status, headers, body }: RouteResponse): void {
  exchange.respond(status, headers, body);
}

/** The path exists, the method does not. */
export function replyMethodNotAllowed(exchange: Exchange, allow: string): void {
  exchange.respond(405, [...JSON_HEADERS, "allow", allow], refuse("method_not_allowed", allow).body());
}

/** What may be done with a path. */
export function replyOptions(exchange: Exchange, allow: string): void {
  exchange.respond(204, ["allow", allow, ...API_HEADERS], null);
}

/** A file of the dashboard, that it has not changed, or the document that says that there is no such page. */
export function replyFile(
  exchange: Exchange,
  status: 200 | 304 | 404,
  headers: HeaderList,
  body: string | Uint8Array | null,
): void {
  exchange.respond(status, headers, body);
}

/** A defect of ours: the client learns no more than under which id the log has it. */
export function replyDefect(exchange: Exchange, id: string): void {
  replyRefusal(exchange, refuse("internal", id));
}
