/** Requests of a run to its server while its code executes: answers, leases, variables. */
import type { AcquireResponse } from "#protocol/records/lease";
import type { Millrace } from "../client/index.ts";
import { ServerVariables, type VariableStore } from "../run/variable-store.ts";
import { patiently } from "./patience.ts";

export interface RunServices {
  /** The answers to the run's questions so far, in order. */
  answers(): Promise<unknown[]>;
  /** Takes all of the amounts, or returns the blocking resource once `waitMs` have passed. */
  acquire(resources: Record<string, number>, waitMs: number, signal: AbortSignal): Promise<AcquireResponse>;
  release(lease: number): Promise<void>;
  readonly variables: VariableStore;
}

/** The services of a run that is held by a server. While the server is away the requests wait for it, as reports do. */
export class ServerRunServices implements RunServices {
  readonly variables: VariableStore;
  readonly #client: () => Promise<Millrace>;
  readonly #runId: number;
  readonly #signal: AbortSignal;

  /** @param signal of the run: ends every wait */
  constructor(client: () => Promise<Millrace>, home: string, runId: number, signal: AbortSignal) {
    this.#client = client;
    this.#runId = runId;
    this.#signal = signal;
    this.variables = new ServerVariables(client, home, (request) => patiently(request, signal));
  }

  async answers(): Promise<unknown[]> {
    const client = await this.#client();
    return await patiently(() => client.runs.answers(this.#runId), this.#signal);
  }

  async acquire(resources: Record<string, number>, waitMs: number, signal: AbortSignal): Promise<AcquireResponse> {
    const client = await this.#client();
    return await patiently(() => client.leases.acquire(this.#runId, resources, { waitMs, signal }), signal);
  }

  async release(lease: number): Promise<void> {
    const client = await this.#client();
    // A lease ends with its run, so a release that keeps failing need not be awaited for ever.
    await patiently(() => client.leases.release(this.#runId, lease), this.#signal);
  }
}
