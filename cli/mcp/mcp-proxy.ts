/**
 * The stdio side of the Model Context Protocol: each line is one message, posted to the server's /mcp unchanged. The proxy
 * keeps running when the server fails: a message that cannot be delivered is answered with an error, and the next message tries
 * again.
 */

import { MCP_SESSION_IDLE_US } from "#protocol/limits";
import { isRpcId, mcpInstructions, RPC_ERROR } from "#protocol/mcp/mcp";
import { isReadOnlyTool, readOnlyRefusal } from "#protocol/mcp/mcp-tools";
import { parseJson } from "#protocol/values/json";
import { MillraceError } from "#sdk/client/error";
import type { Answer, Peer } from "#sdk/client/http";

/** Ten seconds more than the server holds any request. */
const TIMEOUT_MS = 40_000;
/**
 * The proxy opens a new session after this time, before the server drops the old one, so that runs keep the name of their
 * creator.
 */
const SESSION_FRESH_MS = MCP_SESSION_IDLE_US / 1_000 / 2;

/** A running server, with an identity that changes at its restart. */
export interface FoundServer {
  peer: Peer;
  identity: string;
}

export interface ProxyPorts {
  /** @throws MillraceError when no server runs. */
  find(): FoundServer;
  /** Omits tools that change state, and refuses calls of them. */
  readOnly: boolean;
  /** Milliseconds that never step back. */
  now(): number;
  /** Receives errors that cannot be sent in an answer. */
  complain(text: string): void;
}

type JsonObject = Readonly<Record<string, unknown>>;

interface Session {
  id: string | null;
  server: string;
  usedMs: number;
}

/** A message could not be delivered, or was refused as a whole. */
class NotDelivered extends Error {
  override readonly name = "NotDelivered";
  readonly code: number;

  constructor(message: string, code: number = RPC_ERROR.unreachable) {
    super(message);
    this.code = code;
  }
}

export class McpProxy {
  readonly #ports: ProxyPorts;
  /** The host's initialize message; repeated to a server that does not have the session. */
  #introduction: unknown = null;
  #session: Session | null = null;

  constructor(ports: ProxyPorts) {
    this.#ports = ports;
  }

  /** The answer to one line, as one line; null if no answer is due. */
  async answer(line: string): Promise<string | null> {
    if (line.trim() === "") return null;
    let message: unknown;
    try {
      message = parseJson(line);
    } catch (cause) {
      return errorLine(null, RPC_ERROR.parse, `the message is not valid JSON: ${textOf(cause)}`);
    }
    const refusal = this.#ports.readOnly ? refuseChange(message) : null;
    if (refusal !== null) return refusal;
    try {
      return await this.#forward(line, message);
    } catch (cause) {
      const failure = cause instanceof NotDelivered ? cause : new NotDelivered(textOf(cause));
      if (wantsAnswer(message)) return errorLine(idOf(message), failure.code, failure.message);
      this.#ports.complain(failure.message);
      return null;
    }
  }

  async #forward(line: string, message: unknown): Promise<string | null> {
    const server = this.#ports.find();
    if (methodOf(message) === "initialize") {
      this.#introduction = message;
      this.#session = null;
    } else {
      await this.#introduce(server);
    }
    const text = await this.#post(server, line);
    if (text === "" || !wantsAnswer(message)) return null;
    if (this.#ports.readOnly) return withoutChanges(text);
    // One line per message, however the server formats it.
    return text.includes("\n") ? JSON.stringify(parseJson(text)) : text;
  }

  /** Opens a session in the host's name if the server has none: after a restart, or after the session expired. */
  async #introduce(server: FoundServer): Promise<void> {
    if (this.#introduction === null) return;
    const session = this.#session;
    if (session?.server === server.identity && this.#ports.now() - session.usedMs < SESSION_FRESH_MS) return;
    this.#session = null;
    await this.#post(server, JSON.stringify(this.#introduction));
  }

  /** The body of the answer. Throws NotDelivered. */
  async #post({ peer, identity }: FoundServer, body: string): Promise<string> {
    const headers: Record<string, string> = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    if (peer.token !== null) headers["authorization"] = `Bearer ${peer.token}`;
    if (this.#session?.id != null) headers["mcp-session-id"] = this.#session.id;
    let answer: Answer;
    let text: string;
    try {
      answer = await peer.send("/mcp", { method: "POST", headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
      text = await answer.text();
    } catch (cause) {
      throw new NotDelivered(undelivered(peer.url, cause));
    }
    if (answer.status >= 300) throw refused(answer.status, text);
    const id = answer.header("mcp-session-id") ?? this.#session?.id ?? null;
    this.#session = { id, server: identity, usedMs: this.#ports.now() };
    return text;
  }
}

function undelivered(url: string, cause: unknown): string {
  if (cause instanceof Error && cause.name === "TimeoutError") {
    return `${url} did not answer in time; look at what was done before trying again`;
  }
  const code = systemCode(cause);
  if (code === "ECONNREFUSED" || code === "ENOENT")
    return `no server answers at ${url} (${code}); start it with \`millrace serve\``;
  return `the connection to ${url} broke (${code ?? textOf(cause)}); look at what was done before trying again`;
}

/** fetch hides the system's error code in `cause`. */
function systemCode(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ("code" in error && typeof error.code === "string") return error.code;
  return systemCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}

/** Advice for a message that the server refused as a whole, by status. */
const ADVICE: Readonly<Record<number, string>> = {
  400: "The host and the server speak different versions of the protocol",
  403: "Use the address the server itself names, or have its host added to allowed_hosts",
  413: "Send less at once",
  503: "Nothing was changed; try again in a moment",
};
const ADVICE_OTHERWISE = "Do not repeat it; the server's log has the cause";

function refused(status: number, body: string): NotDelivered {
  const said = errorOf(body) ?? `the server answered ${status}`;
  if (status !== 401) return new NotDelivered(`${said.replace(/\.$/, "")}. ${ADVICE[status] ?? ADVICE_OTHERWISE}`);
  const advice = "give this proxy the server's token with --token or MILLRACE_TOKEN";
  return new NotDelivered(`the server refused access: ${said}; ${advice}`, RPC_ERROR.unauthorized);
}

function errorOf(body: string): string | null {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) && typeof parsed["error"] === "string" ? parsed["error"] : null;
  } catch {
    return null;
  }
}

function textOf(cause: unknown): string {
  if (cause instanceof MillraceError && cause.reason === "unreachable")
    return `${cause.message}; start one with \`millrace serve\``;
  return cause instanceof Error ? cause.message : String(cause);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A batch needs an answer too: a refusal. */
function wantsAnswer(message: unknown): boolean {
  return Array.isArray(message) || (isObject(message) && Object.hasOwn(message, "id"));
}

/** Null without an id. */
function idOf(message: unknown): unknown {
  return isObject(message) && isRpcId(message["id"]) ? message["id"] : null;
}

function methodOf(message: unknown): unknown {
  return isObject(message) ? message["method"] : undefined;
}

function errorLine(id: unknown, code: number, message: string): string {
  return JSON.stringify({ error: { code, message }, id, jsonrpc: "2.0" });
}

/** The answer to a call of a tool that changes state; null for any other message. */
function refuseChange(message: unknown): string | null {
  if (!isObject(message) || message["method"] !== "tools/call" || !wantsAnswer(message)) return null;
  const { params } = message;
  const name = isObject(params) ? params["name"] : undefined;
  if (typeof name === "string" && isReadOnlyTool(name)) return null;
  const text = readOnlyRefusal(String(name), "this connection was opened with --read-only");
  return JSON.stringify({
    id: idOf(message),
    jsonrpc: "2.0",
    result: { content: [{ text, type: "text" }], isError: true },
  });
}

/** The answer without tools that change state, and with instructions for reading only. */
function withoutChanges(text: string): string {
  const answer = parseJson(text);
  if (!isObject(answer) || !isObject(answer["result"])) return JSON.stringify(answer);
  const { tools, instructions } = answer["result"];
  const result = { ...answer["result"] };
  if (Array.isArray(tools)) result["tools"] = tools.filter((tool) => isObject(tool) && isReadOnlyTool(String(tool["name"])));
  if (typeof instructions === "string") result["instructions"] = mcpInstructions(true);
  return JSON.stringify({ ...answer, result });
}
