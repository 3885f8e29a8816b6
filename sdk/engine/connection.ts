import { Client } from "undici";

/** Where the server listens and what it wants to see. */
export interface ServerAddress {
  /** Base address, for example http://127.0.0.1:4270. */
  url: string;
  /** Path of the server's Unix socket; requests go there when it is set. */
  socketPath: string | null;
  /** API token, null when the server asks for none. */
  token: string | null;
}

export interface Answer {
  status: number;
  /** The JSON of the body, or its text where it is no JSON; null for an empty one. */
  body: unknown;
  /** The Retry-After header in milliseconds, 0 without one. */
  retryAfterMs: number;
}

/** A way to the server. Requests go out one after the other. */
export interface Channel {
  /**
   * Sends one request and reads its answer, whatever the status.
   * @throws an error of the way, or the signal's reason
   */
  send(method: "GET" | "POST", path: string, json: string | null, signal?: AbortSignal): Promise<Answer>;
  close(): void;
}

/** How long an unused connection is kept: longer than servers do, so that they close it, which is noticed at once. */
const KEEP_ALIVE_MS = 600_000;

/** One keep-alive connection to the server. */
export class Connection implements Channel {
  readonly #address: () => ServerAddress;
  readonly #timeoutMs: number;
  #client: Client | null = null;
  #headers: Record<string, string> = {};

  /** @param address read anew after each failed request, because a restarted server may listen elsewhere */
  constructor(address: () => ServerAddress, timeoutMs: number) {
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  async send(method: "GET" | "POST", path: string, json: string | null, signal?: AbortSignal): Promise<Answer> {
    const client = this.#connected();
    try {
      const { statusCode, headers, body } = await client.request({
        method,
        path,
        headers: this.#headers,
        body: json,
        signal: signal ?? null,
      });
      const text = await body.text();
      return { status: statusCode, body: parseBody(text), retryAfterMs: (Number(headers["retry-after"]) || 0) * 1000 };
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    const client = this.#client;
    this.#client = null;
    // What is still under way fails with this connection; nobody needs to hear of the closing itself.
    client?.destroy().catch(() => undefined);
  }

  #connected(): Client {
    if (this.#client !== null) return this.#client;
    const { url, socketPath, token } = this.#address();
    this.#headers = { "content-type": "application/json" };
    if (token !== null) this.#headers["authorization"] = `Bearer ${token}`;
    this.#client = new Client(new URL(url).origin, {
      ...(socketPath === null ? {} : { socketPath }),
      headersTimeout: this.#timeoutMs,
      bodyTimeout: this.#timeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      connect: { timeout: this.#timeoutMs },
    });
    return this.#client;
  }
}

/** The JSON of a body, or its text where it is no JSON; null for an empty one. */
export function parseBody(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
