/** `client.leases`: amounts of limited resources that a run holds beyond those of its flow. */
import type { Http } from "./http.ts";
import type { AcquireResponse } from "./records.ts";

/** Options of `leases.acquire`. */
export interface AcquireOptions {
  /** How long the server may hold the request until the resources are free, in ms; at most 30,000. Default 0. */
  waitMs?: number;
  /** Whether an answer without a lease says why: `text`, and `unreachable` for an amount above the total. Default false. */
  explain?: boolean;
  /** Ends the request. */
  signal?: AbortSignal | undefined;
}

export class Leases {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Takes all of the amounts or none: `{lease}`, or `{waiting}` with the blocking resource. A lease ends with its run, when the
   * run pauses, or by release. @throws MillraceError 404; 409 for a run that has ended; 422 for amounts that are not numbers
   * above 0.
   */
  acquire(runId: number, resources: Record<string, number>, options: AcquireOptions = {}): Promise<AcquireResponse> {
    const { waitMs = 0, explain } = options;
    const body = { run_id: runId, resources, wait_ms: waitMs, ...(explain === undefined ? {} : { explain }) };
    // The server takes back a lease whose answer was lost, so a repeated request holds nothing twice.
    return this.#http.json<AcquireResponse>("POST", "/api/resources/acquire", { body, repeatable: true, signal: options.signal });
  }

  /** Releases a lease of the run; no effect if the lease has ended. */
  async release(runId: number, lease: number): Promise<void> {
    await this.#http.json("POST", "/api/resources/release", { body: { run_id: runId, lease }, repeatable: true });
  }
}
