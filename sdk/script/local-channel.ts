import { type Channel, type ChannelAnswer, parseBody } from "../engine/connection.ts";
import type { LocalSend } from "./home-server.ts";

/** The channel of an engine to the server of its own process: a request is a call. */
export class LocalChannel implements Channel {
  readonly #send: LocalSend;
  readonly #timeoutMs: number;

  constructor(send: LocalSend, timeoutMs: number) {
    this.#send = send;
    this.#timeoutMs = timeoutMs;
  }

  async send(method: "GET" | "POST", path: string, json: string | null, signal?: AbortSignal): Promise<ChannelAnswer> {
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const answer = await this.#send({
      method,
      path,
      headers: { "content-type": "application/json" },
      body: json,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
    const retryAfterMs = (Number(answer.header("retry-after")) || 0) * 1000;
    return { status: answer.status, body: parseBody(await answer.text()), retryAfterMs };
  }

  close(): void {}
}
