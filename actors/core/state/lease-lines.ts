/**
 * Waiting acquires, in one line per resource. An acquire may be served when it is first in all of its lines, so freed
 * capacity concerns only the first of a few lines, however many acquires wait. Acquires of more than the total keep
 * their place but are passed over.
 */
import type { Command } from "#protocol/wire/command";

export interface Waiting {
  command: Command<"AcquireLease">;
  runId: number;
  resources: Record<string, number>;
  sinceUs: number;
}

export class WaitingLines {
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
    for (const name of Object.keys(waiting.resources)) {
      const line = this.#lines.get(name);
      if (line === undefined) this.#lines.set(name, new Set([waiting]));
      else line.add(waiting);
    }
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

  /** The first acquire of a line that can be served. */
  firstOf(name: string): Waiting | undefined {
    for (const waiting of this.#lines.get(name) ?? []) if (this.#isReachable(waiting)) return waiting;
    return undefined;
  }

  /** Number of acquires that wait for a resource. */
  countOf(name: string): number {
    return this.#lines.get(name)?.size ?? 0;
  }

  /** The acquire of a run that has waited longest, if the run waits. */
  ofRun(runId: number): Waiting | undefined {
    for (const waiting of this.#waiting.values()) if (waiting.runId === runId) return waiting;
    return undefined;
  }

  /** Whether an earlier acquire that can be served waits for one of the same resources. */
  isBehind(waiting: Waiting): boolean {
    return Object.keys(waiting.resources).some((name) => {
      const first = this.firstOf(name);
      return first !== undefined && first !== waiting;
    });
  }
}
