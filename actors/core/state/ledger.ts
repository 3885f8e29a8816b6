/**
 * The ledger of resource leases: which run holds how much of which resource.
 *
 * Use is always derived from the live leases, so ending a lease cannot miss a counter. Taking is all or nothing. Undeclared
 * resources have a total of one.
 */

import { WaitingLines } from "./lease-lines.ts";

/** Parts of one in which amounts are added, so that 0.1 + 0.2 equals 0.3 when sums are compared. */
const PRECISION = 1e9;

/** Whether so much of a resource is enough: 1 - 0.9 is enough for 0.1, although it is less in binary. */
export function suffices(free: number, need: number): boolean {
  return need <= free + 1 / PRECISION;
}

/** Whether there is any of a resource. */
export function isLeft(free: number): boolean {
  return free > 1 / PRECISION;
}

/** Total of a resource that no configuration names. */
export const UNDECLARED_TOTAL = 1;

/** Maximum of names up to which unused resources are also listed. */
const NAMES_KEPT_MAX = 10_000;

export interface Lease {
  id: number;
  run_id: number;
  /** "run": taken at hand-out; "explicit": acquired by user code. */
  kind: "run" | "explicit";
  resources: Record<string, number>;
  /** Wall-clock time when the lease was taken. */
  sinceUs: number;
}

export class Ledger {
  /** Acquires of user code that wait. */
  readonly lines = new WaitingLines(({ resources }) => this.unreachable(resources) === null);
  readonly #totals = new Map<string, number>();
  readonly #implied = new Map<string, number>();
  readonly #leases = new Map<number, Lease>();
  readonly #byRun = new LeaseIndex<number>();
  readonly #byResource = new LeaseIndex<string>();
  #explicitCount = 0;

  /** Number of resources in leases of user code, counted once per lease. */
  get explicitCount(): number {
    return this.#explicitCount;
  }

  setTotal(resource: string, total: number): void {
    this.#totals.set(resource, total);
    this.lines.totalChanged(resource);
  }

  /** Sets the total of a derived resource (a flow's max_concurrent), which is listed after its first use. */
  setImplied(resource: string, total: number): void {
    this.#implied.set(resource, total);
    this.lines.totalChanged(resource);
  }

  totalOf(resource: string): number {
    return this.#totals.get(resource) ?? this.#implied.get(resource) ?? UNDECLARED_TOTAL;
  }

  usedOf(resource: string): number {
    let used = 0;
    for (const lease of this.#byResource.of(resource)) used += lease.resources[resource] ?? 0;
    return Math.round(used * PRECISION) / PRECISION;
  }

  freeOf(resource: string): number {
    return this.totalOf(resource) - this.usedOf(resource);
  }

  /** The first resource (by name) that lacks capacity for these needs, or null. */
  blocking(needs: Record<string, number>): string | null {
    for (const resource of Object.keys(needs).sort()) {
      if (!suffices(this.freeOf(resource), needs[resource] ?? 0)) return resource;
    }
    return null;
  }

  /**
   * The first resource (by name) of which more is needed than there is in total, or null. No release can serve such a need,
   * only a larger total.
   */
  unreachable(needs: Record<string, number>): string | null {
    for (const resource of Object.keys(needs).sort()) {
      if (!suffices(this.totalOf(resource), needs[resource] ?? 0)) return resource;
    }
    return null;
  }

  /** How much of a resource a run holds. */
  heldBy(runId: number, resource: string): number {
    let held = 0;
    for (const lease of this.#byRun.of(runId)) held += lease.resources[resource] ?? 0;
    return Math.round(held * PRECISION) / PRECISION;
  }

  /** Records a lease. The caller has checked `blocking`. */
  take(lease: Lease): void {
    this.#leases.set(lease.id, lease);
    const names = Object.keys(lease.resources);
    if (lease.kind === "explicit") this.#explicitCount += names.length;
    this.#byRun.add(lease.run_id, lease);
    for (const resource of names) this.#byResource.add(resource, lease);
  }

  get(id: number): Lease | undefined {
    return this.#leases.get(id);
  }

  /** Ends a lease and returns the names of its resources. */
  end(id: number): string[] {
    const lease = this.#leases.get(id);
    if (lease === undefined) return [];
    this.#leases.delete(id);
    this.#byRun.remove(lease.run_id, lease);
    if (this.#byRun.of(lease.run_id).length === 0) this.#byRun.delete(lease.run_id);
    const names = Object.keys(lease.resources);
    if (lease.kind === "explicit") this.#explicitCount -= names.length;
    for (const resource of names) {
      this.#byResource.remove(resource, lease);
      if (this.#byResource.size > NAMES_KEPT_MAX && this.#byResource.of(resource).length === 0) this.#byResource.delete(resource);
    }
    return names;
  }

  leasesOf(runId: number): Lease[] {
    return [...this.#byRun.of(runId)];
  }

  /** The leases that hold a resource. */
  holdersOf(resource: string): Lease[] {
    return [...this.#byResource.of(resource)];
  }

  /** Runs that hold a resource, at most this many. */
  firstHolders(resource: string, most: number): number[] {
    return this.#byResource
      .of(resource)
      .slice(0, most)
      .map(({ run_id }) => run_id);
  }

  /** Every resource that is declared or was used in this process, with total and use. */
  list(): { name: string; total: number; used: number }[] {
    const names = new Set([...this.#totals.keys(), ...this.#byResource.keys()]);
    return [...names].sort().map((name) => ({ name, total: this.totalOf(name), used: this.usedOf(name) }));
  }
}

/** Leases by a key. Most keys have one lease, which then stands without a list: lists of one take memory and time at a start. */
class LeaseIndex<Key> {
  readonly #leases = new Map<Key, Lease | Lease[]>();

  get size(): number {
    return this.#leases.size;
  }

  keys(): Iterable<Key> {
    return this.#leases.keys();
  }

  of(key: Key): readonly Lease[] {
    const known = this.#leases.get(key) ?? [];
    return Array.isArray(known) ? known : [known];
  }

  add(key: Key, lease: Lease): void {
    const known = this.#leases.get(key);
    if (known === undefined) this.#leases.set(key, lease);
    else if (Array.isArray(known)) known.push(lease);
    else this.#leases.set(key, [known, lease]);
  }

  /** A key without leases stays until it is deleted. */
  remove(key: Key, lease: Lease): void {
    this.#leases.set(
      key,
      this.of(key).filter((each) => each !== lease),
    );
  }

  delete(key: Key): void {
    this.#leases.delete(key);
  }
}
