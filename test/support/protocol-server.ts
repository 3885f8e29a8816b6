import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A run in the test's server. */
export interface ServedRun {
  id: number;
  state: { type: string; name: string; message: string | null; details: Record<string, unknown> };
  /** Names of the accepted states, in order. */
  history: string[];
  lastSeq: number;
  /** Applied report items, in order. */
  items: Record<string, unknown>[];
  cancel: boolean;
  heartbeats: number;
}

export interface Received {
  path: string;
  body: Record<string, unknown>;
}

/** A test may answer a request itself, or cut the connection before or after the request is handled. */
export type Interception = { status: number; body?: unknown } | "cut" | "cut-after" | undefined;

const TERMINAL = new Set(["Completed", "Failed", "Cancelled", "Crashed"]);

/** The server side of the engine protocol, for one engine: work, transitions, reports, heartbeats. */
export class ProtocolServer {
  readonly runs = new Map<number, ServedRun>();
  readonly received: Received[] = [];
  intercept: (request: Received) => Interception = () => undefined;
  readonly #queue: Record<string, unknown>[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #http = createServer((request, response) => void this.#handle(request, response));
  #parked: ServerResponse | null = null;
  #exit = false;
  #nextId = 1;

  static async start(): Promise<ProtocolServer> {
    const server = new ProtocolServer();
    server.#http.listen(0, "127.0.0.1");
    await once(server.#http, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** Queues a run of a flow; `extra` overrides fields of the work item. */
  enqueue(flow: string, parameters: object = {}, extra: object = {}): ServedRun {
    const id = this.#nextId++;
    const state = { type: "Scheduled", name: "Scheduled", message: null, details: {} };
    const run: ServedRun = { id, state, history: [], lastSeq: 0, items: [], cancel: false, heartbeats: 0 };
    this.runs.set(id, run);
    this.#queue.push({ ...workItem(id, flow, parameters), ...extra });
    this.#handOut();
    return run;
  }

  /** Answers the engine's next poll with LEAVE. */
  exit(): void {
    this.#exit = true;
    this.#handOut();
  }

  /** Resolves when the condition holds; checked after each request. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  async ended(run: ServedRun): Promise<ServedRun> {
    await this.until(() => TERMINAL.has(run.state.type));
    return run;
  }

  get parked(): boolean {
    return this.#parked !== null;
  }

  logs(run: ServedRun): string[] {
    return run.items
      .filter(({ kind }) => kind === "logs")
      .flatMap(({ logs }) => (logs as { message: string }[]).map(({ message }) => message));
  }

  /**
   * Transitions and reports of a run, in order: "Pending", "report", and "report: Pending, Running" for a report that moves
   * the run.
   */
  paths(run: ServedRun): string[] {
    return this.received
      .filter(
        ({ path, body }) => path === `/api/runs/${run.id}/transition` || (path.endsWith("/report") && body["run_id"] === run.id),
      )
      .map(({ path, body }) => (path.endsWith("/report") ? reportOf(body) : String(body["name"])));
  }

  close(): void {
    this.#http.closeAllConnections();
    this.#http.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const received: Received = {
      path: request.url ?? "",
      body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
    // Not recorded, because the number of these requests depends on the duration of an import.
    if (received.path !== "/api/health") this.received.push(received);
    const interception = this.intercept(received);
    if (interception === "cut") request.socket.destroy();
    else if (typeof interception === "object") reply(response, interception.status, interception.body ?? {});
    else {
      const answer = this.#answer(received, response);
      if (interception === "cut-after") request.socket.destroy();
      else if (answer !== null) reply(response, answer[0], answer[1]);
    }
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #answer({ path, body }: Received, response: ServerResponse): [number, unknown] | null {
    if (path === "/api/engine/work") {
      this.#parked = response;
      response.on("close", () => {
        if (this.#parked === response) this.#parked = null;
      });
      this.#handOut();
      return null;
    }
    const transition = /^\/api\/runs\/(\d+)\/transition$/.exec(path);
    if (path === "/api/engine/failed") return [200, { failed_runs: [] }];
    if (path.startsWith("/api/backfills/")) return [200, { parameter: "day" }];
    const run = this.runs.get(Number(transition?.[1] ?? body["run_id"]));
    if (path === "/api/engine/heartbeat") {
      if (run !== undefined) run.heartbeats += 1;
      return [200, { cancel: run?.cancel ?? false, active: run !== undefined && !TERMINAL.has(run.state.type) }];
    }
    if (run === undefined) return [404, { error: "no such run" }];
    return transition === null ? this.#report(run, body) : this.#transition(run, body);
  }

  #transition(run: ServedRun, body: Record<string, unknown>): [number, unknown] {
    const from = run.state.type;
    const to = String(body["type"]);
    const refused = (reason: string): [number, unknown] => [409, { error: `refused: ${reason}`, reason, current: run.state }];
    if (TERMINAL.has(from)) return refused("terminal");
    if (from === "Cancelling" && to !== "Cancelled")
      return refused(to === "Pending" || to === "Running" ? "invalid-entry" : "cancelling");
    if (to === "Pending" && from !== "Scheduled") return refused("invalid-entry");
    if (to === "Running" && from === "Running") return refused("invalid-entry");
    // The server sets the time of a crash itself.
    run.state = { ...body, ...(to === "Crashed" && { timestamp: Date.now() * 1000 }) } as unknown as ServedRun["state"];
    run.history.push(String(body["name"]));
    return [200, { id: run.id, state: run.state }];
  }

  #report(run: ServedRun, body: Record<string, unknown>): [number, unknown] {
    let applied = 0;
    let skipped = 0;
    for (const item of body["events"] as Record<string, unknown>[]) {
      const seq = Number(item["seq"]);
      if (seq <= run.lastSeq) {
        skipped += 1;
        continue;
      }
      run.lastSeq = seq;
      if (item["kind"] === "run_transition") this.#transition(run, item["state"] as Record<string, unknown>);
      else run.items.push(item);
      applied += 1;
    }
    const answer = { applied, skipped, last_seq: run.lastSeq, cancel: run.cancel && !TERMINAL.has(run.state.type) };
    return [200, reportOf(body) === "report" ? answer : { ...answer, run_state: run.state }];
  }

  #handOut(): void {
    const response = this.#parked;
    if (response === null) return;
    const run = this.#queue.shift() ?? null;
    if (run === null && !this.#exit) return;
    this.#parked = null;
    reply(response, 200, { run, exit: run === null });
  }
}

function reportOf({ events }: Record<string, unknown>): string {
  const moves = (events as { kind: string; state?: { name: string } }[]).filter(({ kind }) => kind === "run_transition");
  return moves.length === 0 ? "report" : `report: ${moves.map(({ state }) => state?.name).join(", ")}`;
}

function workItem(id: number, flow: string, parameters: object): Record<string, unknown> {
  return {
    kind: "run",
    run_id: id,
    run_name: `run-${id}`,
    // Processes are found by this id, and other tests run engines too.
    external_id: randomUUID(),
    project: "engine-flows",
    flow,
    parameters,
    options: {},
    cancel_requested: false,
    payload: null,
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
