/**
 * A commit as one statement: the fence, then a part for each table that changes. The rows come as one array for each column.
 *
 * The fence updates the owner's row only for the owner's epoch and for the number after the stored one. The statement then
 * divides by the number of rows that the fence changed, so that a commit of a former owner, or a commit sent twice, fails as a
 * whole (22012). The same holds when a part changes other rows than the fold expected.
 */
import type { Primitive } from "#protocol/wire/feed";
import { columnArray } from "./columns.ts";
import type { FoldedBatch } from "./fold-batch.ts";
import type { Part } from "./parts.ts";

/** Who commits: the incarnation of a server, and 1, 2, 3 ... within its epoch. */
export interface CommitPlace {
  member: number;
  epoch: number;
  number: number;
}

export interface CommitStatement {
  /** Of the prepared statement; equal names have equal texts. */
  name: string;
  text: string;
  values: (number | Buffer)[];
}

const FENCE = `WITH fence AS (UPDATE members SET number = $3, counters = $4::int8[]
  WHERE member = $1 AND epoch = $2 AND fenced = 0 AND number = $3::int8 - 1 RETURNING 1)`;
const FENCE_VALUES = 4;

/** Settings of the writer's connection: the plan goes by key from the rows of the arrays, whatever the statistics say. */
export const WRITER_SETTINGS = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
  SET plan_cache_mode = force_generic_plan; SET jit = off`;

export class CommitStatements {
  readonly #numbers = new Map<Part, number>();
  readonly #prepared = new Map<string, { name: string; text: string }>();

  statement({ member, epoch, number }: CommitPlace, { rows, counters }: FoldedBatch): CommitStatement {
    const parts = [...rows.keys()].sort((a, b) => this.#numberOf(a) - this.#numberOf(b));
    const key = parts.map((part) => this.#numberOf(part)).join(" ");
    const prepared = this.#prepared.get(key) ?? { name: `commit_${this.#prepared.size}`, text: textOf(parts) };
    this.#prepared.set(key, prepared);
    const values = [
      member,
      epoch,
      number,
      columnArray(
        "int8",
        counters.map((value): [number] => [value]),
        0,
      ),
    ];
    return { ...prepared, values: [...values, ...parts.flatMap((part) => arraysOf(part, rows.get(part) ?? []))] };
  }

  #numberOf(part: Part): number {
    const known = this.#numbers.get(part) ?? this.#numbers.size;
    this.#numbers.set(part, known);
    return known;
  }
}

function arraysOf(part: Part, rows: readonly Primitive[][]): Buffer[] {
  return part.columns.map(({ type }, column) => columnArray(type, rows, column));
}

function textOf(parts: readonly Part[]): string {
  const expressions = [FENCE];
  const checks = ["1 / (SELECT count(*) FROM fence)"];
  let bound = FENCE_VALUES;
  for (const [index, part] of parts.entries()) {
    const name = `p${index}`;
    const first = bound + 1;
    const arrays = part.columns.map(({ type }) => {
      bound += 1;
      return `$${bound}::${type}[]`;
    });
    const rows = `unnest(${arrays.join(", ")}) AS u (${part.columns.map((column) => column.name).join(", ")})`;
    expressions.push(part.text(name, rows));
    if (part.exact) checks.push(`1 / ((SELECT count(*) FROM ${name}) = cardinality($${first}::int8[]))::int`);
  }
  return `${expressions.join(",\n")}\nSELECT ${checks.join(", ")}`;
}
