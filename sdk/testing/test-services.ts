import type { AcquireResponse } from "#protocol/records/lease";
import type { DurableServices } from "../durable/durable-services.ts";
import type { RunServices } from "../execution/run-services.ts";
import type { VariableStore } from "../run/variable-store.ts";

/** The answers of a server to a run, from memory. */
export class TestServices implements RunServices {
  readonly variables: VariableStore;
  /** The answers given so far. */
  readonly given: unknown[] = [];
  readonly #totals: Readonly<Record<string, number>>;
  readonly #held = new Map<number, Record<string, number>>();
  readonly #waiting: { resources: Record<string, number>; granted: (lease: number) => void }[] = [];
  #nextLease = 1;
  readonly #durable: DurableServices;
  readonly start: RunServices["start"];

  /** @param totals of resources; others have a total of 1, as on a server */
  constructor(
    variables: Map<string, unknown>,
    totals: Readonly<Record<string, number>>,
    durable: DurableServices,
    start: RunServices["start"],
  ) {
    this.start = start;
    this.#durable = durable;
    this.variables = inMemory(variables);
    this.#totals = totals;
  }

  durable(): DurableServices {
    return this.#durable;
  }

  async answers(): Promise<unknown[]> {
    return [...this.given];
  }

  async acquire(resources: Record<string, number>, waitMs: number, signal: AbortSignal): Promise<AcquireResponse> {
    signal.throwIfAborted();
    const behind = this.#waiting.some((earlier) => Object.keys(earlier.resources).some((name) => name in resources));
    const blocking = this.#blocking(resources);
    if (blocking === null && !behind) return { lease: this.#take(resources) };
    this.#checkTotals(resources);
    if (waitMs === 0) return { waiting: blocking ?? Object.keys(resources).sort()[0] ?? "" };
    // Waits for the release however long that takes: a test should not depend on real time.
    const lease = await this.#granted(resources, signal);
    return { lease };
  }

  async release(lease: number): Promise<void> {
    this.#held.delete(lease);
    for (const waiting of [...this.#waiting]) {
      if (this.#blocking(waiting.resources) !== null) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.granted(this.#take(waiting.resources));
    }
  }

  /** Leases end with the attempt that took them. */
  releaseAll(): void {
    this.#held.clear();
  }

  #granted(resources: Record<string, number>, signal: AbortSignal): Promise<number> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
      };
      const granted = (lease: number) => {
        signal.removeEventListener("abort", leave);
        resolve(lease);
      };
      const waiting = { resources, granted };
      this.#waiting.push(waiting);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #take(resources: Record<string, number>): number {
    const lease = this.#nextLease;
    this.#nextLease += 1;
    this.#held.set(lease, resources);
    return lease;
  }

  #blocking(resources: Record<string, number>): string | null {
    const names = Object.keys(resources).sort();
    return names.find((name) => (resources[name] ?? 0) > this.#totalOf(name) - this.#used(name)) ?? null;
  }

  /** @throws RangeError for an amount above the total, which a test would wait for without end */
  #checkTotals(resources: Record<string, number>): void {
    for (const [name, amount] of Object.entries(resources)) {
      const total = this.#totalOf(name);
      if (amount > total) throw new RangeError(`${amount} of ${name} are never free: the total is ${total} in this test`);
    }
  }

  #totalOf(name: string): number {
    return this.#totals[name] ?? 1;
  }

  #used(name: string): number {
    let used = 0;
    for (const held of this.#held.values()) used += held[name] ?? 0;
    return used;
  }
}

function inMemory(variables: Map<string, unknown>): VariableStore {
  return {
    async get(name) {
      return variables.has(name) ? { value: variables.get(name) } : null;
    },
    async set(name, value) {
      variables.set(name, JSON.parse(JSON.stringify(value)));
    },
    async remove(name) {
      return variables.delete(name);
    },
  };
}
