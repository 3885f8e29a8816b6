/**
 * Waiting acquires, in one line per resource. An acquire may be served when it is first in all of its lines, so freed
 * capacity concerns only the first of a few lines, however many acquires wait.
 */
import type { Command } from "#protocol/wire/command";

export interface Waiting {
  command: Command;
  runId: number;
  resources: Record<string, number>;
}

export class WaitingLines {
  readonly #waiting = new Map<number, Waiting>();
  /** By resource, in order of arrival; empty lines are removed. */
  readonly #lines = new Map<string, Set<Waiting>>();

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

  firstOf(name: string): Waiting | undefined {
    return this.#lines.get(name)?.values().next().value;
  }

  /** Whether an earlier acquire waits for one of the same resources. */
  isBehind(waiting: Waiting): boolean {
    return Object.keys(waiting.resources).some((name) => {
      const first = this.firstOf(name);
      return first !== undefined && first !== waiting;
    });
  }
}
