/** A served home in which every event of the catalogue and every stream message occurs once. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ServedHome, type ServedProcess, until } from "./served-home.ts";
import { StreamClient } from "./stream-client.ts";

const PLACE = { project: "kit", source_dir: "/nowhere", flow_tags: ["nightly"] };
const ENGINE = { engine_id: "e1", pid: process.pid, source_dir: "/nowhere", wait_ms: 10_000 };
const DAY = { type: "object", properties: { day: { type: "string", format: "date" }, k: { type: "string" } } };
/** An action without effect: the flows concerned have no schedules. */
const NOOP = [{ kind: "pause_schedule" }];
const ENDED = ["run.completed", "run.failed", "run.crashed", "run.cancelled", "run.skipped"];

/** Two intervals of the schedule whose fires are missed while the server is down. */
const MISSED_MS = 2_000;
/** The flow of that schedule. */
export const CAUGHT_UP_FLOW = "timed";

type Row = Record<string, unknown>;
type State = { type: string; name?: string };

export class EveryEvent {
  readonly home = new ServedHome();
  #server: ServedProcess | null = null;
  #stream: StreamClient | null = null;
  /** Streams of former servers, whose messages also count. */
  readonly #streams: StreamClient[] = [];
  readonly #receiver = createServer((_request, response) => response.end());
  #reported = 0;

  get server(): ServedProcess {
    if (this.#server === null) throw new Error("no server");
    return this.#server;
  }

  get messages(): StreamClient["messages"] {
    return this.#streams.flatMap(({ messages }) => messages);
  }

  async end(): Promise<void> {
    for (const { socket } of this.#streams) socket.destroy();
    this.#receiver.close();
    await this.home.remove();
  }

  async happen(): Promise<void> {
    this.#receiver.listen(0, "127.0.0.1");
    await once(this.#receiver, "listening");
    await this.#serve();
    await this.#rules();
    await this.#runs();
    await this.#blockedEngine();
    await this.#taskRuns();
    await this.#flows();
    await this.#schedules();
    await this.#others();
    await this.#restart();
  }

  async call(method: string, path: string, body?: unknown): Promise<Row> {
    const answer = await this.server.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Waits for a further event of this name. */
  async #heard(name: string, count = 1): Promise<void> {
    await this.#stream?.until(
      ({ messages }) => messages.filter(({ event, data }) => event === "event.created" && data["name"] === name).length >= count,
    );
  }

  async #serve(): Promise<void> {
    this.#server = await this.home.serve();
    const stream = new StreamClient(Number(new URL(this.server.url).port), "/api/stream?since=0");
    await stream.until(({ messages }) => messages.length > 0);
    this.#stream = stream;
    this.#streams.push(stream);
  }

  async #run(flow: string, more: Row = {}): Promise<Row> {
    return this.call("POST", "/api/runs", { ...PLACE, flow, module: `${flow}.ts`, ...more });
  }

  async #move(run: Row, type: string, more: Row = {}): Promise<Row> {
    return this.call("POST", `/api/runs/${run["id"]}/transition`, { type, ...more });
  }

  /** A run that the engine holds and has started. */
  async #running(flow: string, more: Row = {}): Promise<Row> {
    const run = await this.#run(flow, more);
    const work = (await this.call("POST", "/api/engine/work", { ...ENGINE, module: `${flow}.ts` }))["run"] as Row;
    if (work["run_id"] !== run["id"]) throw new Error(`given ${JSON.stringify(work)}`);
    await this.#move(run, "Pending");
    return this.#move(run, "Running");
  }

  /** An engine that exchanges, whose code holds its thread. */
  async #blockedEngine(): Promise<void> {
    await this.#run("blocking");
    const engine = { ...ENGINE, engine_id: "e-blocked", module: "blocking.ts", slots: 1, hold: false };
    const first = await this.call("POST", "/api/engine/exchange", { ...engine, exchange: 1, held: [], reports: [] });
    const [given] = first["runs"] as Row[];
    const held = [{ run_id: given?.["run_id"], lease: given?.["lease"] }];
    const moves = ["Pending", "Running"].map((type, at) => ({
      kind: "run_transition",
      seq: at + 1,
      state: { type, name: type, timestamp: Date.now() * 1_000 },
    }));
    const reports = [{ ...held[0], events: moves }];
    await this.call("POST", "/api/engine/exchange", { ...engine, exchange: 2, held, reports, blocked_secs: 1.5 });
  }

  async #report(run: Row, ...events: Row[]): Promise<void> {
    const numbered = events.map((event) => {
      this.#reported += 1;
      return { ...event, seq: this.#reported };
    });
    await this.call("POST", "/api/engine/report", { engine_id: "e1", run_id: run["id"], events: numbered });
  }

  async #rules(): Promise<void> {
    const url = `http://127.0.0.1:${(this.#receiver.address() as AddressInfo).port}/`;
    const failing = { kind: "webhook", url, body: "{{ nope }}" };
    await this.call("POST", "/api/rules", {
      name: "acts",
      when: { events: ["run.failed"] },
      do: [{ kind: "webhook", url }, failing],
    });
    const watch = { when: { events: ["run.running"], flows: ["watched"] }, unless: { events: ENDED }, do: NOOP };
    await this.call("POST", "/api/rules", { name: "patient", ...watch, within: 3600 });
    await this.call("POST", "/api/rules", { name: "impatient", ...watch, within: 0.2 });
    const gone = await this.call("POST", "/api/rules", { name: "gone", do: NOOP });
    await this.call("DELETE", `/api/rules/${gone["id"]}`);
  }

  /** The moves of runs; the first run is watched. */
  async #runs(): Promise<void> {
    const watched = await this.#running("watched");
    await this.#heard("expectation.lapsed");
    await this.#move(watched, "Completed");
    await this.#heard("expectation.met");
    const failing = await this.#running("failing");
    await this.#move(failing, "Scheduled", { name: "AwaitingRetry" });
    await this.#move(failing, "Running", { name: "Retrying" });
    await this.#move(failing, "Failed", { message: "boom" });
    await this.#heard("rule.action.failed");
    await this.#move(await this.#running("crashing", { options: { crash_retries: 1 } }), "Crashed");
    const asking = await this.#running("asking");
    await this.#move(asking, "Paused");
    await this.call("POST", `/api/runs/${asking["id"]}/resume`, { input: true });
    await this.call("POST", `/api/runs/${asking["id"]}/cancel`);
    const alone = { options: { max_concurrent: 1, on_overlap: "skip" } };
    const held = await this.#running("alone", alone);
    await this.#run("alone", alone);
    await this.#move(held, "Completed");
    const deleted = await this.#run("deleted");
    await this.call("DELETE", `/api/runs/${deleted["id"]}`);
  }

  async #taskRuns(): Promise<void> {
    const run = await this.#running("tasks");
    const ends: State[] = [
      { type: "Completed" },
      { type: "Failed" },
      { type: "Completed", name: "Skipped" },
      { type: "Completed", name: "Cached" },
      { type: "Cancelled" },
    ];
    for (const [index, end] of ends.entries()) {
      const external_id = `11111111-1111-7111-8111-11111111111${index}`;
      const move = (state: State): Row => ({
        kind: "task_run_transition",
        external_id,
        state: { ...state, timestamp: Date.now() * 1000 },
      });
      const made = { kind: "task_run_created", external_id, name: "t", task_key: "t", dynamic_key: `t-${index}` };
      await this.#report(run, made, move({ type: "Pending" }), move({ type: "Running" }), move(end));
    }
    const line = { run_id: run["id"], level: 20, logger: "l", timestamp: Date.now() * 1000, message: "a line" };
    await this.#report(run, { kind: "logs", logs: [line] });
    await this.call("POST", "/api/artifacts", { run_id: run["id"], kind: "markdown", data: { text: "done" } });
    await this.#move(run, "Cancelled");
  }

  async #flows(): Promise<void> {
    for (const flow of ["left", "right"])
      await this.#run(flow, { parameter_schema: DAY }).then((run) => this.call("DELETE", `/api/runs/${run["id"]}`));
    const after = { flow: "left", flows: ["left", "right"], key: "k", parameters: {} };
    await this.#run("both", { parameter_schema: DAY, options: { after } }).then((run) =>
      this.call("DELETE", `/api/runs/${run["id"]}`),
    );
    for (const flow of ["left", "right"]) await this.#move(await this.#running(flow, { parameters: { k: "x" } }), "Completed");
    await this.#heard("flow.fan_in");
    const brittle = await this.#running("brittle", { options: { disable_after: [1, 3600, 0.2] } });
    await this.call("POST", `/api/flows/${brittle["flow_id"]}/schedules`, { kind: "cron", cron: "0 3 1 1 *" });
    await this.#move(brittle, "Failed");
    await this.#heard("flow.enabled");
    await this.call("PATCH", "/api/settings", { resources: { db: 0 } });
    await this.#run("starved", { options: { resources: { db: 1 } } });
    await this.#heard("resource.exhausted");
  }

  async #schedules(): Promise<void> {
    const { flow_id } = await this.#run(CAUGHT_UP_FLOW, { parameter_schema: DAY });
    const path = `/api/flows/${flow_id}/schedules`;
    const daily = await this.call("POST", path, { kind: "cron", cron: "0 3 * * *" });
    await this.call("POST", `/api/schedules/${daily["id"]}/skips`, { next: 1 });
    await this.call("PATCH", `/api/schedules/${daily["id"]}`, { cron: "0 4 * * *" });
    await this.call("POST", `/api/schedules/${daily["id"]}/pause`);
    await this.call("POST", `/api/schedules/${daily["id"]}/resume`);
    await this.call("DELETE", `/api/schedules/${daily["id"]}`);
    // Its first run becomes late during the other steps, and its fires are missed while the server is down.
    await this.call("POST", path, { kind: "interval", interval: 1, catchup: "latest" });
    const backfill = await this.call("POST", `/api/flows/${flow_id}/backfill`, {
      parameter: "day",
      start: "2026-01-01",
      end: "2026-01-02",
    });
    await this.call("POST", `/api/backfills/${backfill["id"]}/cancel`);
  }

  async #others(): Promise<void> {
    await this.call("POST", "/api/variables", { name: "a", value: 1 });
    await this.#stream?.until(({ messages }) => messages.some(({ event }) => event === "variable.updated"));
    await this.call("DELETE", "/api/variables/a");
    await this.call("POST", "/api/events", { name: "kit.done" });
    await this.#heard("run.late");
  }

  async #restart(): Promise<void> {
    await this.#stream?.until(({ messages }) => messages.some(({ data }) => data["name"] === "kit.done"));
    await this.server.kill("SIGTERM");
    // A server that is back within the interval has missed no fire.
    await sleep(MISSED_MS);
    await this.#serve();
    await until(async () => {
      const { items } = await this.call("GET", "/api/events?name=schedule.catchup");
      return (items as Row[]).length > 0 ? true : null;
    });
  }
}
