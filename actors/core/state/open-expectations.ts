/** The open expectations: by rule and key, and by deadline. */
import type { ExpectationRow } from "#storage/load/load-rules";
import { PriorityQueue } from "./priority-queue.ts";

function nameOf(ruleId: number, key: string): string {
  return `${ruleId} ${key}`;
}

export class OpenExpectations {
  readonly #byName = new Map<string, ExpectationRow>();
  /** Ended expectations stay in the queue until they are first. */
  readonly #byDeadline = new PriorityQueue<ExpectationRow>(
    (a, b) => a.deadline < b.deadline || (a.deadline === b.deadline && a.id < b.id),
  );

  get size(): number {
    return this.#byName.size;
  }

  values(): Iterable<ExpectationRow> {
    return this.#byName.values();
  }

  find(ruleId: number, key: string): ExpectationRow | undefined {
    return this.#byName.get(nameOf(ruleId, key));
  }

  add(expectation: ExpectationRow): void {
    this.#byName.set(nameOf(expectation.rule_id, expectation.key), expectation);
    this.#byDeadline.push(expectation);
  }

  end(expectation: ExpectationRow): void {
    this.#byName.delete(nameOf(expectation.rule_id, expectation.key));
  }

  /** The expectation with the earliest deadline. */
  first(): ExpectationRow | undefined {
    for (let first = this.#byDeadline.peek(); first !== undefined; first = this.#byDeadline.peek()) {
      if (this.find(first.rule_id, first.key) === first) return first;
      this.#byDeadline.pop();
    }
    return undefined;
  }
}
