/** An engine that takes, reports and gives away durable runs on the orders of a measurement, one exchange at a time. */
import { exchangeHead } from "../engine-protocol.ts";
import { asciiJson, HttpConnection } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import type { Target } from "../target.ts";

/** An answer brings many work items. */
const READ_BYTES = 262_144;
/** Connections on which waits are armed side by side. */
const ARMING_CONNECTIONS = 8;

export interface HeldRun {
  run_id: number;
  lease: number;
}

export interface RunReport {
  run: HeldRun;
  /** Events as JSON text. */
  events: string;
}

interface Answer {
  exit: boolean;
  runs: HeldRun[];
  reports: { run_id: number; status?: number; fenced?: boolean; skipped?: number; run_state?: { type: string } }[];
}

export class DurableEngine {
  /** Engines so far: each has an id of its own. */
  static #created = 0;
  readonly #connection: HttpConnection;
  readonly #arming: HttpConnection[];
  readonly #head: string;
  readonly #held = new Map<number, HeldRun>();
  #number = 0;

  constructor({ endpoint, flow }: Target, pid: number) {
    DurableEngine.#created += 1;
    const id = `load-${process.pid}-durable-${DurableEngine.#created}`;
    this.#connection = new HttpConnection(endpoint, READ_BYTES);
    this.#arming = Array.from({ length: ARMING_CONNECTIONS }, () => new HttpConnection(endpoint));
    this.#head = exchangeHead(flow, id, pid);
  }

  get held(): HeldRun[] {
    return [...this.#held.values()];
  }

  /** Gives up an exchange that the server holds. */
  cut(): void {
    this.#connection.cut();
  }

  close(): void {
    this.#connection.close();
    for (const connection of this.#arming) connection.close();
  }

  /**
   * Sends these reports and takes up to `slots` further runs. A run that is no longer Running after its report is not held any more.
   *
   * @param holds the server holds the exchange until there is work
   * @throws LoadFailed if the server refuses a report
   */
  async exchange(reports: readonly RunReport[], slots: number, holds = false): Promise<HeldRun[]> {
    this.#number += 1;
    const held = this.held.map(({ run_id, lease }) => `{"run_id":${run_id},"lease":${lease}}`);
    const sent = reports.map(
      ({ run: { run_id, lease }, events }) => `{"run_id":${run_id},"lease":${lease},"events":[${events}]}`,
    );
    const body = `${this.#head}"exchange":${this.#number},"slots":${slots},"held":[${held}],"reports":[${sent}]`;
    const answer = await this.#connection.post("/api/engine/exchange", `${body},"hold":${holds}}`, true);
    if (answer.status !== 200) throw new LoadFailed(`an exchange was answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    const { exit, runs, reports: outcomes }: Answer = JSON.parse(answer.body);
    if (exit) throw new LoadFailed("the server sent an engine away");
    for (const [index, { run }] of reports.entries()) this.#settle(run, outcomes[index]);
    for (const { run_id, lease } of runs) this.#held.set(run_id, { run_id, lease });
    return runs;
  }

  /** Arms one wait for each of these runs. */
  async arm(waits: readonly { run: HeldRun; wait: object }[]): Promise<void> {
    await Promise.all(
      this.#arming.map(async (connection, first) => {
        for (let index = first; index < waits.length; index += ARMING_CONNECTIONS) {
          const { run, wait } = waits[index] ?? {};
          if (run === undefined) continue;
          const path = `/api/runs/${run.run_id}/waits`;
          const answer = await connection.post(path, asciiJson({ lease: run.lease, waits: [wait] }));
          if (answer.status !== 200) throw new LoadFailed(`POST ${path} answered ${answer.status}: ${answer.body.slice(0, 200)}`);
        }
      }),
    );
  }

  #settle(run: HeldRun, outcome: Answer["reports"][number] | undefined): void {
    const isApplied = outcome?.run_id === run.run_id && outcome.status === undefined && outcome.skipped === 0;
    if (!isApplied || outcome.fenced === true)
      throw new LoadFailed(`the report of run ${run.run_id} was answered ${JSON.stringify(outcome)}`);
    const { run_state } = outcome;
    if (run_state !== undefined && run_state.type !== "Running") this.#held.delete(run.run_id);
  }
}
