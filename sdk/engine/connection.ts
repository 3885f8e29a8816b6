/** HTTP from the engine to the server: one keep-alive connection per purpose. */
import { Client } from "undici";

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

/** How long an unused connection is kept: longer than servers do, so that the server closes it, which is noticed at once. */
const KEEP_ALIVE_MS = 600_000;

/** One keep-alive connection to the server. */
export class Connection implements Channel {
  readonly #address: () => ServerAddress;
  readonly #timeoutMs: number;
  #client: Client | null = null;
  #headers: Record<string, string> = {};

  /** @param address read again after each failed request, because a restarted server may listen elsewhere */
  constructor(address: () => ServerAddress, timeoutMs: number) {
    this.#address = address;
    this.#timeoutMs = timeoutMs;
  }

  async send(method: "GET" | "POST", path: string, json: string | null, signal?: AbortSignal): Promise<ChannelAnswer> {
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
    // Pending requests fail with this connection; errors of the close itself do not matter.
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

/** The JSON of a body, or its text if it is not JSON; null for an empty body. */
export function parseBody(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
