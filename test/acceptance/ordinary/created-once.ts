import type { Run } from "#sdk/client/index";
import type { Check } from "../check.ts";
import { isRepetition } from "../lineages.ts";

/** The runs of the flow that repeat no other one have these keys, each once. */
export class CreatedOnce {
  readonly #runs: readonly Run[];
  readonly #check: Check;

  constructor(runs: readonly Run[], check: Check) {
    this.#runs = runs;
    this.#check = check;
  }

  verify(flow: string, keys: readonly unknown[], keyOf: (run: Run) => unknown): void {
    const found = this.#runs.filter((run) => run.flow_name === flow && !isRepetition(run)).map((run) => String(keyOf(run)));
    const expected = new Set(keys.map(String));
    const seen = new Set<string>();
    const wrong = found.filter((key) => seen.size === seen.add(key).size || !expected.has(key));
    this.#check.same(wrong, [], `runs of ${flow} that were created twice or without a cause`);
    this.#check.same(
      [...expected].filter((key) => !seen.has(key)),
      [],
      `runs of ${flow} that were not created`,
    );
  }
}

/** From 0. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}
