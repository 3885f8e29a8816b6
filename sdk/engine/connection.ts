/**
 * HTTP from the engine to the server: one keep-alive connection per purpose. The engine uses the HTTP client of Node and not
 * undici, whose loading took a third of an engine's start. The modules are not imported, because an import of node:http evaluates
 * its export of WebSocket, which loads undici as well.
 */
import type { Agent, IncomingMessage } from "node:http";

/** Address and credentials of the server. */
export interface ServerAddress {
  /** Base address, for example http://127.0.0.1:4270. */
  url: string;
  /** Path of the server's Unix socket; if set, requests use it. */
  socketPath: string | null;
  /** API token, null if the server requires none. */
  token: string | null;
}

export interface ChannelAnswer {
  status: number;
  /** The JSON of the body, or its text if it is not JSON; null for an empty body. */
  body: unknown;
  /** The Retry-After header in milliseconds, 0 without one. */
  retryAfterMs: number;
}

/** A connection to the server. Requests are sent one after the other. */
export interface Channel {
  /**
   * Sends one request and reads its answer, whatever the status.
   * @throws a connection error, or the signal's reason
   */
  send(method: "GET" | "POST", path: string, json: string | null, signal?: AbortSignal): Promise<ChannelAnswer>;
  close(): void;
}

/** One keep-alive connection to the server. */
export class Connection implements Channel {
  readonly #address: () => ServerAddress;
  readonly #timeoutMs: number;
  #target: Target | null = null;

  /**
   * @param address read again after each failed request, because a restarted server may listen elsewhere
   * @param timeoutMs a request fails when nothing arrives for so long
   */
  constructor(address: () => ServerAddress, timeoutMs: number) {
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  async send(method: "GET" | "POST", path: string, json: string | null, signal?: AbortSignal): Promise<ChannelAnswer> {
    const target = this.#connected();
    try {
      const incoming = await this.#request(target, method, path, json, signal);
      return {
        status: incoming.statusCode ?? 0,
        body: parseBody(await textOf(incoming)),
        retryAfterMs: (Number(incoming.headers["retry-after"]) || 0) * 1000,
      };
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    const target = this.#target;
    this.#target = null;
    // Requests under way fail with their connection.
    target?.agent.destroy();
  }

  #request(
    { request, options, headers, agent }: Target,
    method: string,
    path: string,
    json: string | null,
    signal: AbortSignal | undefined,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = json === null ? {} : { "content-length": String(Buffer.byteLength(json)) };
      const outgoing = request({
        ...options,
        agent,
        method,
        path,
        headers: { ...headers, ...length },
        ...(signal === undefined ? {} : { signal }),
      });
      outgoing.setTimeout(this.#timeoutMs, () => outgoing.destroy(new Error(`no answer for ${this.#timeoutMs / 1000} s`)));
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      outgoing.end(json ?? undefined);
    });
  }

  #connected(): Target {
    if (this.#target !== null) return this.#target;
    const { url, socketPath, token } = this.#address();
    const { protocol, hostname, port } = new URL(url);
    const { request, Agent } = process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http");
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const headers = { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
    const options = socketPath === null ? { host, ...(port === "" ? {} : { port: Number(port) }) } : { host, socketPath };
    this.#target = { request, options, headers, agent: new Agent({ keepAlive: true, maxSockets: 1 }) };
    return this.#target;
  }
}

/** Where requests go, and the connection that they share. */
interface Target {
  request: typeof import("node:http").request;
  options: { host: string; port?: number; socketPath?: string };
  headers: Record<string, string>;
  agent: Agent;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  incoming.setEncoding("utf8");
  let text = "";
  // Fails if the connection ends before the body does.
  for await (const part of incoming) text += part;
  return text;
}

/** The JSON of a body, or its text if it is not JSON; null for an empty body. */
export function parseBody(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
