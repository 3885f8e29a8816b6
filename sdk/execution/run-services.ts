/** Requests of a run to its server while its code executes: answers, leases, variables. */

import type { NewWait, Step, Wait } from "#protocol/records/durable";
import type { AcquireResponse } from "#protocol/records/lease";
import type { Millrace } from "../client/index.ts";
import type { ChildrenHere, DurableServices } from "../durable/durable-services.ts";
import { ServerVariables, type VariableStore } from "../run/variable-store.ts";
import { patiently } from "./patience.ts";
import type { StartedFlow, StartedRun, StartingRun, StartOptions } from "./started-run.ts";

export interface RunServices {
  /** The answers to the run's questions so far, in order. */
  answers(): Promise<unknown[]>;
  /** Takes all of the amounts, or returns the blocking resource once `waitMs` have passed. */
  acquire(resources: Record<string, number>, waitMs: number, signal: AbortSignal): Promise<AcquireResponse>;
  release(lease: number): Promise<void>;
  readonly variables: VariableStore;
  /** Creates runs of their own, one for each of these parameters, which are checked. */
  start(
    run: StartingRun,
    flow: StartedFlow,
    items: readonly Record<string, unknown>[],
    options: StartOptions,
  ): Promise<StartedRun<unknown>[]>;
  /** For a run of a durable flow, which is held under this lease. */
  durable(lease: number): DurableServices;
}

/** The services of a run that is held by a server. While the server is away the requests wait for it, as reports do. */
export class ServerRunServices implements RunServices {
  readonly variables: VariableStore;
  readonly #client: () => Promise<Millrace>;
  readonly #runId: number;
  readonly #signal: AbortSignal;
  readonly #children: ChildrenHere | undefined;

  /**
   * @param signal of the run: ends every wait
   * @param children where this process executes the children of the run
   */
  constructor(client: () => Promise<Millrace>, home: string, runId: number, signal: AbortSignal, children?: ChildrenHere) {
    this.#children = children;
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
    return await patiently(() => client.leases.acquire(this.#runId, resources, { waitMs, signal, explain: true }), signal);
  }

  async release(lease: number): Promise<void> {
    const client = await this.#client();
    // A lease ends with its run, so a release that keeps failing need not be awaited for ever.
    await patiently(() => client.leases.release(this.#runId, lease), this.#signal);
  }

  async start(...[run, flow, items, options]: Parameters<RunServices["start"]>): Promise<StartedRun<unknown>[]> {
    const { startFromRun } = await import("../script/start-runs.ts");
    return await startFromRun(this.#client, run, flow, items, options);
  }

  durable(lease: number): DurableServices {
    const [runId, signal] = [this.#runId, this.#signal];
    const ask = async <T>(request: (client: Millrace) => Promise<T>): Promise<T> => {
      const client = await this.#client();
      return await patiently(() => request(client), signal);
    };
    return {
      steps: () => ask(({ runs }) => all<Step>(runs.steps(runId))),
      address: async () => {
        if (this.#children !== undefined) throw new Error("callback() needs a server: this script executes its run itself");
        const address = await ask((client) => client.address());
        // Through the Unix socket the engine learns of no address that others could use.
        return address.startsWith("unix:") ? (await ask((client) => client.server())).url : address;
      },
      step: (identity) => ask(({ runs }) => runs.step(runId, identity)),
      waits: (after) => ask(({ runs }) => all<Wait>(runs.waits(runId, { after }))),
      arm: async (waits, flows) => {
        const children = this.#children;
        const specs = children === undefined ? waits : waits.map((wait) => registered(wait, flows, children));
        const armed = await ask(({ runs }) => runs.armWaits(runId, lease, specs));
        children?.armed(armed, flows);
        return armed;
      },
    };
  }
}

function registered(wait: NewWait, flows: ReadonlyMap<string, object>, children: ChildrenHere): NewWait {
  const flow = flows.get(wait.identity);
  if (flow === undefined || wait.kind !== "child") return wait;
  return { ...wait, registration: children.registrationOf(flow) };
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
