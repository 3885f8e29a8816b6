/**
 * An engine that holds many runs at a time. Each exchange carries the reports of all of them and asks for further runs, as
 * engines of this package do: a run begins with one report and ends with another, because its function is called only after
 * the server has accepted the beginning. No user code runs, so that every run has a report for each exchange, and a held
 * exchange never has to be ended early: one connection is enough.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type EngineHost, RETRY_MS, type WorkItem } from "../engine-host.ts";
import { exchangeHead, type LoadFlow, ReportWriter } from "../engine-protocol.ts";
import { type Answer, type Endpoint, HttpConnection } from "../http-connection.ts";
import type { SeededRandom } from "../random.ts";
import { field } from "../target.ts";

/** Events of one exchange, as in engines: half of what an exchange may have. */
const EVENTS_BYTES_MAX = 524_288;
/** An answer brings many work items. */
const READ_BYTES = 262_144;
const FIRST_SEQ_OF_ENDING = 3;

interface Held {
  item: WorkItem;
  lease: number;
  createdAtMs: number | undefined;
  /** The report of the beginning or of the end. */
  report: string;
  ends: boolean;
}

interface ExchangeAnswer {
  exit: boolean;
  runs: WorkItem[];
  reports: { run_id: number; status?: number; error?: string; run_state?: { type: string } }[];
  stop: { run_id: number; reason: string }[];
}

export class SlotEngine {
  readonly connection: HttpConnection;
  readonly #id: string;
  readonly #slots: number;
  readonly #host: EngineHost;
  readonly #reports: ReportWriter;
  readonly #head: string;
  readonly #held = new Map<number, Held>();
  /** Number of the newest exchange. */
  #number = 0;
  #stopped = false;

  constructor(
    id: string,
    pid: number,
    flow: LoadFlow,
    slots: number,
    endpoint: Endpoint,
    random: SeededRandom,
    host: EngineHost,
  ) {
    this.#id = id;
    this.#slots = slots;
    this.#host = host;
    this.#head = exchangeHead(flow, id, pid);
    this.#reports = new ReportWriter(id, random);
    this.connection = new HttpConnection(endpoint, READ_BYTES);
  }

  /** Serves until stop() or until the server sends it away. */
  async serve(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (!(await this.#exchange())) return;
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
  async #exchange(): Promise<boolean> {
    const reported = this.#reported();
    const sentAt = performance.now();
    const answer = await this.connection.post("/api/engine/exchange", this.#body(reported), true);
    const atMs = performance.now();
    if (answer.status !== 200) {
      this.#refused(answer);
      await sleep(RETRY_MS);
      return true;
    }
    const { exit, runs, reports, stop } = readAnswer(answer.body);
    if (reported.length > 0) this.#host.recorder.report.add(atMs - sentAt);
    for (const [index, held] of reported.entries()) this.#settle(held, reports[index], atMs);
    for (const { run_id, reason } of stop) this.#drop(run_id, `run ${run_id} was to be stopped: ${reason}`);
    for (const item of runs) this.#take(item, atMs);
    if (!exit) return true;
    this.#host.dismissed(this.#id);
    return false;
  }

  /** The runs whose reports the next exchange carries. */
  #reported(): Held[] {
    const reported: Held[] = [];
    let bytes = 0;
    for (const held of this.#held.values()) {
      bytes += held.report.length;
      if (bytes > EVENTS_BYTES_MAX && reported.length > 0) break;
      reported.push(held);
    }
    return reported;
  }

  #body(reported: readonly Held[]): string {
    this.#number += 1;
    const ending = reported.reduce((count, { ends }) => count + Number(ends), 0);
    const free = Math.max(0, this.#slots - this.#held.size + ending);
    let held = "";
    for (const [run, { lease }] of this.#held) held += `${held === "" ? "" : ","}{"run_id":${run},"lease":${lease}}`;
    let reports = "";
    for (const { report } of reported) reports += reports === "" ? report : `,${report}`;
    const rest = `"exchange":${this.#number},"slots":${free},"held":[${held}],"reports":[${reports}]`;
    return `${this.#head}${rest}${reported.length === 0 ? "" : ',"hold":false'}}`;
  }

  #take(item: WorkItem, atMs: number): void {
    const { run_id, lease } = item;
    if (lease === undefined || lease === null) return this.#host.recorder.error(`run ${run_id} was given without a lease`);
    if (this.#held.get(run_id)?.lease === lease) return;
    const createdAtMs = this.#host.received(item, atMs);
    const report = part(run_id, lease, this.#reports.beginningEvents());
    this.#held.set(run_id, { item, lease, createdAtMs, report, ends: false });
  }

  #settle(held: Held, outcome: ExchangeAnswer["reports"][number] | undefined, atMs: number): void {
    const { item, lease } = held;
    const { run_id } = item;
    const state = outcome?.run_state?.type;
    if (outcome?.run_id !== run_id || outcome.status !== undefined || (state === "Running") === held.ends)
      return this.#drop(run_id, `the report of run ${run_id} was answered ${JSON.stringify(outcome)}`);
    if (!held.ends) {
      const { tasks, logs } = this.#host;
      const events = this.#reports.endingEvents(run_id, FIRST_SEQ_OF_ENDING, tasks, logs, this.#host.outcome(item));
      held.report = part(run_id, lease, events);
      held.ends = true;
      return;
    }
    this.#held.delete(run_id);
    this.#host.recorder.completed += 1;
    if (held.createdAtMs !== undefined) this.#host.recorder.whole.add(atMs - held.createdAtMs);
    this.#host.finished(item);
  }

  /** Gives a run up. A run that has ended with this exchange is not held any longer. */
  #drop(run: number, why: string): void {
    const held = this.#held.get(run);
    if (held === undefined) return;
    this.#host.recorder.error(why);
    this.#held.delete(run);
    this.#host.finished(held.item);
  }

  #refused(answer: Answer): void {
    this.#host.recorder.error(`exchange answered ${answer.status}: ${answer.body.slice(0, 200)}`);
  }
}

function part(run: number, lease: number, events: string): string {
  return `{"run_id":${run},"lease":${lease},"events":[${events}]}`;
}

function readAnswer(body: string): ExchangeAnswer {
  const answer: ExchangeAnswer = JSON.parse(body);
  if (!Array.isArray(field(answer, "runs"))) throw new Error(`an exchange was answered ${body.slice(0, 200)}`);
  return answer;
}
