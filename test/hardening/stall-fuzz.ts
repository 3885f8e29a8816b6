/** Sends large requests in sequence and measures how long each delays other clients. */
import { request } from "node:http";
import type { LargeRequest } from "./large-requests.ts";
import type { StallProbe } from "./stall-probe.ts";

export interface Stall {
  name: string;
  /** Of the answer; 0 if the connection was closed without one. */
  status: number;
  answerMs: number;
  /** Slowest answer to GET /api/health during the request. */
  heldMs: number;
  /** Slowest answer of an idle server at the same time. */
  machineMs: number;
}

const ANSWER_LIMIT_MS = 60_000;

/** Each request with its cost. */
export async function* measureStalls(url: string, requests: Iterable<LargeRequest>, probe: StallProbe): AsyncGenerator<Stall> {
  for (const sent of requests) {
    const body = sent.body?.() ?? null;
    await probe.take();
    const begin = performance.now();
    const status = await send(url, sent, body);
    const answerMs = performance.now() - begin;
    const { server, machine } = await probe.take();
    yield { name: sent.name, status, answerMs, heldMs: server, machineMs: machine };
  }
}

function send(url: string, { method, path, headers }: LargeRequest, body: readonly Buffer[] | null): Promise<number> {
  return new Promise((resolve) => {
    const length = body === null ? {} : { "content-length": String(body.reduce((sum, piece) => sum + piece.length, 0)) };
    const outgoing = request(
      `${url}${path}`,
      { method, headers: { ...headers, ...length }, agent: false, timeout: ANSWER_LIMIT_MS },
      (response) => {
        const finish = (): void => {
          response.destroy();
          resolve(response.statusCode ?? 0);
        };
        // A stream has no end.
        if (String(response.headers["content-type"]).startsWith("text/event-stream")) finish();
        response.resume();
        response.once("close", finish);
      },
    );
    outgoing.once("timeout", () => outgoing.destroy());
    outgoing.once("error", () => resolve(0));
    for (const piece of body ?? []) outgoing.write(piece);
    outgoing.end();
  });
}
