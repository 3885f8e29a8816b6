import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A run in the test's server. */
export interface ServedRun {
  id: number;
  externalId: string;
  lease: number;
  state: { type: string; name: string; message: string | null; details: Record<string, unknown> };
  /** Names of the accepted states, in order. */
  history: string[];
  lastSeq: number;
  /** Applied report items, in order. */
  items: Record<string, unknown>[];
  /** How often the run was handed out under its lease. */
  given: number;
  /** How often the engine handed the run back. */
  returned: number;
  /** Number of exchanges that listed the run as held. */
  listed: number;
}

export interface Received {
  path: string;
  body: Record<string, unknown>;
}

/** What an exchange or a report request says about one run. */
export interface RunReport {
  run_id: number;
  lease: number;
  events: Record<string, unknown>[];
  returned?: boolean;
}

/** The body of an exchange. */
export interface Exchange {
  exchange: number;
  slots: number;
  held: { run_id: number; lease: number }[];
  reports: RunReport[];
  hold?: boolean;
  blocked_secs?: number;
}

/** A test may answer a request itself, or cut the connection before or after the request is handled. */
export type Interception = { status: number; body?: unknown } | "cut" | "cut-after" | undefined;

const TERMINAL = new Set(["Completed", "Failed", "Cancelled", "Crashed"]);

/** A work item that waits for its engine. */
type Item = Record<string, unknown>;

/** The server side of the engine protocol, for one engine: exchanges and reports. */
export class ProtocolServer {
  readonly runs = new Map<number, ServedRun>();
  readonly received: Received[] = [];
  /** The exchanges, in order. */
  readonly exchanges: Exchange[] = [];
  intercept: (request: Received) => Interception = () => undefined;
  /** Refuses one report of an exchange. */
  refuse: (report: RunReport) => { status: number; error: string } | undefined = () => undefined;
  readonly #queue: Item[] = [];
  readonly #items = new Map<number, Item>();
  /** Runs that were given in an answer and not named by the engine since. */
  readonly #unacknowledged = new Set<number>();
  readonly #waiting = new Set<() => void>();
  #http = createServer((request, response) => void this.#handle(request, response));
  #parked: { response: ServerResponse; exchange: Exchange } | null = null;
  #newest = 0;
  #exit = false;
  #nextId = 1;
  #nextLease = 1_001;

  static async start(): Promise<ProtocolServer> {
    const server = new ProtocolServer();
    await server.listen(0);
    return server;
  }

  async listen(port: number): Promise<void> {
    this.#http.listen(port, "127.0.0.1");
    await once(this.#http, "listening");
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Queues a run of a flow; `extra` overrides fields of the work item. */
  enqueue(flow: string, parameters: object = {}, extra: object = {}): ServedRun {
    const [run] = this.enqueueAll([{ flow, parameters, extra }]);
    if (run === undefined) throw new Error("no run was queued");
    return run;
  }

  /** Queues runs at once, so that one answer may hand them all out. */
  enqueueAll(wanted: readonly { flow: string; parameters?: object; extra?: object }[]): ServedRun[] {
    const runs = wanted.map(({ flow, parameters = {}, extra = {} }) => {
      const id = this.#nextId++;
      const lease = this.#nextLease++;
      const state = { type: "Scheduled", name: "Scheduled", message: null, details: {} };
      const item: Item = { ...workItem(id, lease, flow, parameters), ...extra };
      const externalId = String(item["external_id"]);
      const run: ServedRun = {
        id,
        externalId,
        lease,
        state,
        history: [],
        lastSeq: 0,
        items: [],
        given: 0,
        returned: 0,
        listed: 0,
      };
      this.runs.set(id, run);
      this.#items.set(id, item);
      this.#queue.push(item);
      return run;
    });
    this.#answerParked();
    return runs;
  }

  /** Requests the cancel of a run, which the engine is told at once if it waits. */
  cancel(run: ServedRun): void {
    run.state = { ...run.state, type: "Cancelling", name: "Cancelling" };
    this.#answerParked();
  }

  /** Deletes a run. */
  delete(run: ServedRun): void {
    this.runs.delete(run.id);
    this.#answerParked();
  }

  /** Orders the engine to leave. */
  exit(): void {
    this.#exit = true;
    this.#answerParked();
  }

  /** Resolves when the condition holds; checked after each request. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  async ended(run: ServedRun): Promise<ServedRun> {
    await this.until(() => TERMINAL.has(run.state.type));
    return run;
  }

  async allEnded(runs: readonly ServedRun[]): Promise<void> {
    for (const run of runs) await this.ended(run);
  }

  /** Whether an exchange of the engine waits for work. */
  get parked(): boolean {
    return this.#parked !== null;
  }

  logs(run: ServedRun): string[] {
    return run.items
      .filter(({ kind }) => kind === "logs")
      .flatMap(({ logs }) => (logs as { message: string }[]).map(({ message }) => message));
  }

  /** All reports about a run, in order. */
  reports(run: ServedRun): RunReport[] {
    const all = this.received.flatMap(({ path, body }) => {
      if (path === "/api/engine/exchange") return body["reports"] as RunReport[];
      return path === "/api/engine/report" ? [body as unknown as RunReport] : [];
    });
    return all.filter(({ run_id }) => run_id === run.id);
  }

  /** The reports of a run in short: "report", or "report: Pending, Running" for a report that moves the run. */
  paths(run: ServedRun): string[] {
    return this.reports(run).map(({ events }) => {
      const moves = events.filter(({ kind }) => kind === "run_transition");
      return moves.length === 0 ? "report" : `report: ${moves.map(({ state }) => (state as { name: string }).name).join(", ")}`;
    });
  }

  /** Cuts all connections, and refuses new ones until it listens again. */
  close(): void {
    this.#parked = null;
    this.#http.closeAllConnections();
    this.#http.close();
  }

  /** Listens again after close(), as a restarted server does. */
  async reopen(port: number): Promise<void> {
    this.#http = createServer((request, response) => void this.#handle(request, response));
    await this.listen(port);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
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
    if (path === "/api/engine/exchange") return this.#exchange(body as unknown as Exchange, response);
    if (path === "/api/engine/failed") return [200, { failed_runs: [] }];
    if (path.startsWith("/api/backfills/")) return [200, { parameter: "day" }];
    const run = this.runs.get(Number(body["run_id"]));
    if (path !== "/api/engine/report" || run === undefined) return [404, { error: "not found" }];
    return [200, this.#apply(run, body["events"] as Record<string, unknown>[])];
  }

  #exchange(exchange: Exchange, response: ServerResponse): [number, unknown] | null {
    if (exchange.exchange < this.#newest) return [409, { error: "outdated" }];
    this.#newest = exchange.exchange;
    this.exchanges.push(exchange);
    const before = this.#parked;
    this.#parked = null;
    if (before !== null) reply(before.response, 200, answerOf(before.exchange));
    const reports = exchange.reports.map((report) => this.#settle(report));
    for (const { run_id, lease } of exchange.held) {
      const run = this.runs.get(run_id);
      if (run?.lease !== lease) continue;
      run.listed += 1;
      this.#unacknowledged.delete(run_id);
    }
    const again = [...this.#unacknowledged].map((id) => this.#given(id));
    const stops = this.#stopsOf(exchange);
    const runs = [...again, ...this.#take(exchange.slots - again.length)];
    const leaves = this.#exit && exchange.held.length === 0;
    if (exchange.hold !== false && reports.length + runs.length + stops.length === 0 && !leaves) {
      const parked = { response, exchange };
      this.#parked = parked;
      response.on("close", () => {
        if (this.#parked === parked) this.#parked = null;
      });
      return null;
    }
    return [200, answerOf(exchange, { exit: leaves, runs, reports, stop: stops })];
  }

  #settle(report: RunReport): object {
    const { run_id, lease, events, returned } = report;
    const run = this.runs.get(run_id);
    const refusal = this.refuse(report);
    if (refusal !== undefined) return { run_id, lease, ...refusal };
    if (run === undefined) return { run_id, lease, status: 404, error: "no such run" };
    if (run.lease !== lease) return { run_id, lease, status: 409, error: "never held" };
    const applied = this.#apply(run, events);
    if (returned === true && run.state.type === "Scheduled") {
      run.returned += 1;
      run.lease = this.#nextLease++;
      this.#unacknowledged.delete(run_id);
      const item = { ...this.#items.get(run_id), lease: run.lease };
      this.#items.set(run_id, item);
      this.#queue.unshift(item);
    }
    return { run_id, lease, ...applied };
  }

  #apply(run: ServedRun, events: readonly Record<string, unknown>[]): Record<string, unknown> {
    let applied = 0;
    for (const item of events) {
      const seq = Number(item["seq"]);
      if (seq <= run.lastSeq) continue;
      run.lastSeq = seq;
      if (item["kind"] === "run_transition") this.#move(run, item["state"] as ServedRun["state"]);
      else run.items.push(item);
      applied += 1;
    }
    const moves = events.some(({ kind }) => kind === "run_transition");
    return { applied, skipped: events.length - applied, last_seq: run.lastSeq, ...(moves ? { run_state: run.state } : {}) };
  }

  #move(run: ServedRun, to: ServedRun["state"]): void {
    const from = run.state.type;
    const isRefused =
      TERMINAL.has(from) ||
      (from === "Cancelling" && to.type !== "Cancelled") ||
      (to.type === "Pending" && from !== "Scheduled") ||
      (to.type === "Running" && from === "Running");
    if (isRefused) return;
    // The server sets the time of a crash itself.
    run.state = { ...to, ...(to.type === "Crashed" && { timestamp: Date.now() * 1000 }) };
    run.history.push(to.name);
  }

  /** Runs of the exchange that are to be stopped. */
  #stopsOf({ held }: Exchange): { run_id: number; lease: number; reason: string }[] {
    return held.flatMap(({ run_id, lease }) => {
      const run = this.runs.get(run_id);
      if (run?.lease !== lease || TERMINAL.has(run.state.type)) return [{ run_id, lease, reason: "gone" }];
      return run.state.type === "Cancelling" ? [{ run_id, lease, reason: "cancel" }] : [];
    });
  }

  #given(id: number): Item {
    const run = this.runs.get(id);
    if (run !== undefined) run.given += 1;
    return this.#items.get(id) ?? {};
  }

  /** Takes up to `count` items off the queue. */
  #take(count: number): Item[] {
    const items = this.#queue.splice(0, Math.max(0, count));
    for (const item of items) {
      const id = Number(item["run_id"]);
      this.#given(id);
      if (item["lease"] !== undefined) this.#unacknowledged.add(id);
    }
    return items;
  }

  /** Answers the exchange that waits if there is something for it now. */
  #answerParked(): void {
    if (this.#parked === null) return;
    const { response, exchange } = this.#parked;
    const stop = this.#stopsOf(exchange);
    const runs = this.#take(exchange.slots);
    const exit = this.#exit && exchange.held.length === 0;
    if (stop.length + runs.length === 0 && !exit) return;
    this.#parked = null;
    reply(response, 200, answerOf(exchange, { exit, runs, stop }));
  }
}

function answerOf({ exchange }: Exchange, given: object = {}): object {
  return { exchange, exit: false, runs: [], reports: [], stop: [], ...given };
}

function workItem(id: number, lease: number, flow: string, parameters: object): Item {
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
    lease,
    run_transitions: true,
  };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
