/**
 * Clients that together exceed a server's capacity, in a separate thread: each posts, waits for the answer, and posts again,
 * with a pause after a refusal.
 */
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

export interface Load {
  url: string;
  connections: number;
  path: string;
  /** Bytes of filler in the body. */
  bytes: number;
  /** Pause of a client after a refusal: less than Retry-After requests. */
  pauseMs: number;
  forMs: number;
}

/** One request; status 0 if the connection was cut. */
export interface Answer {
  status: number;
  tookMs: number;
  retryAfter: boolean;
}

/** Loads a server for the given time; resolves when every client has its last answer. */
export function overload(load: Load): Promise<Answer[]> {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { overload: load } });
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/** The status of the first answer on a connection, and whether it had Retry-After. The body is read and dropped. */
class Client {
  readonly #answers: Answer[];
  readonly #load: Load;
  readonly #request: Buffer;

  constructor(load: Load, answers: Answer[]) {
    this.#answers = answers;
    this.#load = load;
    const run = { flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere", type: "Running" };
    const schema = { type: "object", properties: { data: { type: "string" } } };
    const body = JSON.stringify({ ...run, parameter_schema: schema, parameters: { data: "a".repeat(load.bytes) } });
    const { host } = new URL(load.url);
    const head = `POST ${load.path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    this.#request = Buffer.from(head + body);
  }

  async run(): Promise<void> {
    const endMs = performance.now() + this.#load.forMs;
    while (performance.now() < endMs) {
      const answer = await this.#ask();
      this.#answers.push(answer);
      if (answer.status !== 201) await pause(this.#load.pauseMs);
    }
  }

  #ask(): Promise<Answer> {
    const { hostname, port } = new URL(this.#load.url);
    const beginMs = performance.now();
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname);
      let head = "";
      socket.on("data", (piece) => {
        if (head.includes("\r\n\r\n")) return;
        head += piece.toString("latin1");
        if (!head.includes("\r\n\r\n")) return;
        const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0);
        resolve({ status, tookMs: performance.now() - beginMs, retryAfter: /^retry-after: /im.test(head) });
        socket.destroy();
      });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve({ status: 0, tookMs: performance.now() - beginMs, retryAfter: false }));
      socket.write(this.#request);
    });
  }
}

async function beClients(load: Load): Promise<void> {
  const answers: Answer[] = [];
  await Promise.all(Array.from({ length: load.connections }, () => new Client(load, answers).run()));
  parentPort?.postMessage(answers);
}

if (!isMainThread && "overload" in (workerData as object)) void beClients((workerData as { overload: Load }).overload);
