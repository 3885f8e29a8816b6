/**
 * An engine as the server sees it: polls for work, moves the run through its states, reports, polls again. Runs no user code;
 * sends what an engine sends for a run with that many tasks and log lines.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type EngineHost, RETRY_MS, type WorkItem } from "./engine-host.ts";
import { type LoadFlow, ReportWriter, transitionBody, workBody } from "./engine-protocol.ts";
import { type Answer, type Endpoint, HttpConnection } from "./http-connection.ts";
import type { SeededRandom } from "./random.ts";

const PENDING = transitionBody("Pending");
const RUNNING = transitionBody("Running");

export class SimulatedEngine {
  readonly connection: HttpConnection;
  readonly #name: string;
  readonly #host: EngineHost;
  readonly #pollAs: (id: string) => string;
  readonly #reports: ReportWriter;
  #id: string;
  #poll: string;
  /** Number of engines that took this engine's place, and the runs of the current one. */
  #replaced = 0;
  #runsDone = 0;
  #stopped = false;

  constructor(id: string, pid: number, flow: LoadFlow, endpoint: Endpoint, random: SeededRandom, host: EngineHost) {
    this.#name = id;
    this.#id = id;
    this.#host = host;
    this.#pollAs = (engineId) => workBody(flow, engineId, pid, host.shortRuns);
    this.#poll = this.#pollAs(id);
    this.#reports = new ReportWriter(id, random);
    this.connection = new HttpConnection(endpoint);
  }

  /** Serves until stop() or until the server sends it away. */
  async serve(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (!(await this.#pollOnce())) return;
      } catch (error) {
        if (this.#stopped) return;
        this.#host.recorder.error(error instanceof Error ? error.message : String(error));
        await sleep(RETRY_MS);
      }
    }
  }

  stop(): void {
    this.#stopped = true;
    this.connection.close();
  }

  /** False when the server sent this engine away. */
  async #pollOnce(): Promise<boolean> {
    const answer = await this.connection.post("/api/engine/work", this.#poll, true);
    const atMs = performance.now();
    if (answer.status !== 200) {
      this.#refused("work", answer);
      await sleep(RETRY_MS);
      return true;
    }
    const work: { run: WorkItem | null; exit: boolean } = JSON.parse(answer.body);
    if (work.run !== null) await this.#execute(work.run, atMs);
    if (!work.exit) return true;
    if (this.#runsDone === 0) {
      this.#host.dismissed(this.#id);
      return false;
    }
    this.#replace();
    return true;
  }

  /** Replaces an engine after its number of runs, as a pool does: a new id on the same connection. */
  #replace(): void {
    this.#replaced += 1;
    this.#runsDone = 0;
    this.#id = `${this.#name}.${this.#replaced}`;
    this.#poll = this.#pollAs(this.#id);
    this.#reports.engineId = this.#id;
  }

  async #execute(item: WorkItem, receivedAtMs: number): Promise<void> {
    const host = this.#host;
    const createdAtMs = host.received(item, receivedAtMs);
    this.#runsDone += 1;
    try {
      if (await (host.shortRuns ? this.#workShort(item) : this.#work(item))) {
        host.recorder.completed += 1;
        if (createdAtMs !== undefined) host.recorder.whole.add(performance.now() - createdAtMs);
      }
    } finally {
      host.finished(item);
    }
  }

  /** False when the server refused a step: the run is then abandoned, as by an engine. */
  async #work(item: WorkItem): Promise<boolean> {
    const { tasks, logs, recorder } = this.#host;
    const runId = item.run_id;
    const path = `/api/runs/${runId}/transition`;
    if (!(await this.#transition(path, PENDING)) || !(await this.#transition(path, RUNNING))) return false;
    const { connection } = this;
    const held = { runId, engineId: this.#id, connection, reports: this.#reports };
    let nextSeq = (await this.#host.duty?.(held)) ?? 1;
    if (tasks + logs > 0) {
      const report = this.#reports.work(runId, nextSeq, tasks, logs);
      nextSeq = report.nextSeq;
      const sentAt = performance.now();
      const answer = await this.connection.post("/api/engine/report", report.body);
      recorder.report.add(performance.now() - sentAt);
      if (answer.status !== 200) return this.#refused("report", answer);
    }
    if (!(await this.#transition(path, this.#host.outcome(item)))) return false;
    if (logs === 0) return true;
    const answer = await this.connection.post("/api/engine/report", this.#reports.closing(runId, nextSeq));
    return answer.status === 200 || this.#refused("closing report", answer);
  }

  /** The same with two reports that contain the moves. */
  async #workShort(item: WorkItem): Promise<boolean> {
    const { tasks, logs, recorder } = this.#host;
    const { run_id, lease, run_transitions } = item;
    if (run_transitions !== true || lease === undefined) throw new Error("the server takes no moves in reports");
    const begunAt = performance.now();
    const begun = await this.connection.post("/api/engine/report", this.#reports.beginning(run_id, lease), true);
    recorder.transition.add(performance.now() - begunAt);
    if (begun.status !== 200 || !begun.body.includes('"type":"Running"')) return this.#refused("begin", begun);
    const nextSeq =
      (await this.#host.duty?.({ runId: run_id, engineId: this.#id, connection: this.connection, reports: this.#reports })) ?? 3;
    const sentAt = performance.now();
    const body = this.#reports.ending(run_id, lease, nextSeq, tasks, logs, this.#host.outcome(item));
    const ended = await this.connection.post("/api/engine/report", body, true);
    recorder.report.add(performance.now() - sentAt);
    return (ended.status === 200 && !ended.body.includes('"type":"Running"')) || this.#refused("ending report", ended);
  }

  async #transition(path: string, body: string): Promise<boolean> {
    const sentAt = performance.now();
    const answer = await this.connection.post(path, body);
    this.#host.recorder.transition.add(performance.now() - sentAt);
    return answer.status === 200 || this.#refused("transition", answer);
  }

  #refused(what: string, answer: Answer): false {
    this.#host.recorder.error(`${what} answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    return false;
  }
}
