/**
 * Waiting acquires, in one line per resource. An acquire may be served when it is first in all of its lines, so freed
 * capacity concerns only the first of a few lines, however many acquires wait. An acquire of more than a total stands in no line
 * until that total is raised, and then at its place by arrival.
 */
import type { Command } from "#protocol/wire/command";

export interface Waiting {
  command: Command<"AcquireLease">;
  runId: number;
  resources: Record<string, number>;
  sinceUs: number;
}

export class WaitingLines {
  /** In order of arrival. */
  readonly #waiting = new Map<number, Waiting>();
  /** By resource, in order of arrival; empty lines are removed. */
  readonly #lines = new Map<string, Set<Waiting>>();
  readonly #isReachable: (waiting: Waiting) => boolean;

  /** @param isReachable whether the totals suffice for an acquire */
  constructor(isReachable: (waiting: Waiting) => boolean) {
    this.#isReachable = isReachable;
  }

  find(command: number): Waiting | undefined {
    return this.#waiting.get(command);
  }

  add(waiting: Waiting): void {
    this.#waiting.set(waiting.command.id, waiting);
    this.#enter(waiting);
  }

  #enter(waiting: Waiting): void {
    if (!this.#isReachable(waiting)) return;
    for (const name of Object.keys(waiting.resources)) {
      const line = this.#lines.get(name);
      if (line === undefined) this.#lines.set(name, new Set([waiting]));
      else line.add(waiting);
    }
  }

  /** The total of a resource has changed: other acquires may stand in the lines. */
  totalChanged(name: string): void {
    if (![...this.#waiting.values()].some(({ resources }) => Object.hasOwn(resources, name))) return;
    this.#lines.clear();
    for (const waiting of this.#waiting.values()) this.#enter(waiting);
  }

  remove(waiting: Waiting): void {
    this.#waiting.delete(waiting.command.id);
    for (const name of Object.keys(waiting.resources)) {
      const line = this.#lines.get(name);
      line?.delete(waiting);
      if (line?.size === 0) this.#lines.delete(name);
    }
  }

  clear(): void {
    this.#waiting.clear();
    this.#lines.clear();
  }

  firstOf(name: string): Waiting | undefined {
    return this.#lines.get(name)?.values().next().value;
  }

  /** Number of acquires that wait, by resource. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { resources } of this.#waiting.values())
      for (const name of Object.keys(resources)) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  /** The acquire of a run that has waited longest, if the run waits. */
  ofRun(runId: number): Waiting | undefined {
    for (const waiting of this.#waiting.values()) if (waiting.runId === runId) return waiting;
    return undefined;
  }

  /** Whether an earlier acquire stands in one of the same lines. */
  isBehind(waiting: Waiting): boolean {
    return Object.keys(waiting.resources).some((name) => {
      const first = this.firstOf(name);
      return first !== undefined && first !== waiting;
    });
  }
}
