/** The committed leases on a resource never exceed its total at that time. */
import { isTerminal } from "#protocol/records/state";
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Checker, Commit, Operation } from "./checker.ts";
import type { History } from "./history.ts";

const UNDECLARED = 1;
const ROUNDING = 1e-9;

export class CapacityChecker implements Checker {
  readonly #declared: Readonly<Record<string, number>>;
  readonly #requests: ReadonlyMap<number, Request>;
  /** Totals that may apply: that of the newest answered change, and those of undecided changes. */
  #totals: Map<string, number>;
  readonly #changedBy = new Map<string, number>();
  readonly #uncertain = new Set<number>();
  readonly #changing = new Map<number, Record<string, number>>();

  constructor(declared: Readonly<Record<string, number>>, requests: ReadonlyMap<number, Request>) {
    this.#declared = declared;
    this.#requests = requests;
    this.#totals = new Map(Object.entries(declared));
  }

  /** A change of totals is on its way to the core: from now on it may apply. */
  changing(id: number, request: Request): void {
    if (request.kind === "PatchSettings")
      this.#changing.set(id, (request.body as { resources: Record<string, number> }).resources);
  }

  /** Totals changed at run time are not stored; later answers may be of the former core. */
  coreStarted(): void {
    for (const id of this.#changing.keys()) this.#uncertain.add(id);
    this.#totals = new Map(Object.entries(this.#declared));
  }

  afterCommit({ batch }: Commit, history: History): void {
    for (const { id, run } of history.leases.values()) {
      const type = history.runs.get(run)?.type;
      if (type === undefined) throw new Violation("rows have owners", `lease ${id} is of run ${run}, which is not there`);
      const keeps = history.durable.parks.get(run)?.holds === true;
      if ((type === "Paused" && !keeps) || isTerminal(type))
        throw new Violation("leases end with their run", `lease ${id} of run ${run}, which is ${type}`);
    }
    this.#answers(batch.replies);
  }

  fed(message: { replies: readonly unknown[] }): void {
    this.#answers(message.replies);
  }

  #answers(replies: readonly unknown[]): void {
    for (let at = 0; at < replies.length; at += 3) {
      const id = Number(replies[at]);
      const change = this.#requests.get(id)?.kind === "PatchSettings" ? this.#changing.get(id) : undefined;
      // From then on, a failed change may apply or not.
      if (change === undefined || replies[at + 1] !== 200 || this.#uncertain.has(id)) continue;
      this.#changing.delete(id);
      for (const [name, total] of Object.entries(change)) this.#change(id, name, total);
    }
  }

  /** Changes are decided in the order of their ids, but answered in a different order. */
  #change(id: number, name: string, total: number): void {
    if (id < (this.#changedBy.get(name) ?? 0)) return;
    this.#changedBy.set(name, id);
    this.#totals.set(name, total);
  }

  operation(operation: Operation, history: History): void {
    if (operation.name !== "insert_lease") return;
    const taken = JSON.parse(operation.text("resources")) as Record<string, number>;
    const run = operation.number("run_id");
    for (const [name, amount] of Object.entries(taken)) {
      let used = amount;
      for (const lease of history.leases.values()) used += lease.resources[name] ?? 0;
      const most = this.#mostOf(name, history);
      if (used <= most + ROUNDING) continue;
      throw new Violation("use within capacity", `${used} of ${name} would be taken by run ${run}, there are ${most}`);
    }
  }

  #mostOf(name: string, history: History): number {
    let most = this.#totals.get(name) ?? UNDECLARED;
    for (const change of this.#changing.values()) most = Math.max(most, change[name] ?? 0);
    if (name.startsWith("backfill:")) return history.backfills.get(Number(name.slice("backfill:".length)))?.concurrency ?? 0;
    if (!name.startsWith("flow:")) return most;
    for (const { key, options } of history.flows.values()) if (name === `flow:${key}`) most = Number(options["max_concurrent"]);
    return most;
  }
}
