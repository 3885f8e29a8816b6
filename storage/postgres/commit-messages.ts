/**
 * A commit as messages of PostgreSQL's protocol: the fence, then a prepared statement for each part that has rows, then one
 * Sync. The statements before a Sync are one transaction, and all messages are sent at once: one round trip.
 *
 * The fence updates the owner's row only for the owner's epoch and for the number after the stored one, and divides by the number
 * of rows that it changed. A commit of a former owner, or a commit sent twice, therefore fails (22012), and PostgreSQL skips all
 * that follows until the Sync. The same holds when a part changes other rows than the fold expected.
 */
import type { Primitive } from "#protocol/wire/feed";
import type { Owner } from "../port.ts";
import { type PostgresType, putColumn, putValue } from "./columns.ts";
import { MessageBuffer } from "./message-buffer.ts";
import type { Part } from "./parts.ts";
import { CODE, message } from "./protocol-message.ts";

/** What the fence expects of the owner's row, and puts there. */
export interface Fence {
  owner: Owner;
  number: number;
  /** In the order of COUNTED. */
  counters: readonly number[];
  /** JSON texts. */
  result: string;
  commands: string;
}

/** The rows of parts, in the order of the statements. */
export type Rows = Map<Part, Primitive[][]>;

interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Settings of the writer's connection: the plan goes by key from the rows of the arrays, whatever the statistics say. */
export const WRITER_SETTINGS = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
  SET plan_cache_mode = force_generic_plan; SET jit = off`;

const FENCE: Statement = {
  name: "fence",
  text: `WITH fence AS (UPDATE members SET number = $3, counters = $4::int8[], result = $5, commands = $6
  WHERE member = $1 AND epoch = $2 AND number = $3::int8 - 1 RETURNING 1) SELECT 1 / (SELECT count(*) FROM fence)`,
};

const BINARY = 1;
/** Rows that the text of a defect names. */
const KEYS_SHOWN = 20;

/** The messages of the commits of one connection, which prepares each statement once. */
export class CommitMessages {
  readonly #prepared = new Set<string>();
  readonly #statements = new Map<Part, { one: Statement; many: Statement }>();
  /** Of the newest commit: the next one is about as large. */
  #bytes: number | undefined;

  /** @param fence begins a commit; null for what follows within a transaction */
  messages(fence: Fence | null, steps: readonly Rows[]): Buffer {
    const buffer = new MessageBuffer(this.#bytes);
    if (fence !== null) this.#execute(buffer, FENCE, 6, () => putFence(buffer, fence));
    for (const rows of steps) for (const [part, values] of rows) this.#addPart(buffer, part, values);
    message(buffer, CODE.sync, () => {});
    this.#bytes = buffer.end;
    return buffer.whole();
  }

  /** The text of a statement of these messages, 0 for the first, and its rows. */
  describe(index: number, hasFence: boolean, steps: readonly Rows[]): string {
    if (hasFence && index === 0) return FENCE.text;
    const parts = steps.flatMap((rows) => [...rows]);
    const [part, rows] = parts[index - (hasFence ? 1 : 0)] ?? [];
    if (part === undefined || rows === undefined) return "the end of the transaction";
    const keys = rows.slice(0, KEYS_SHOWN).map(([key]) => String(key));
    return `${this.#statementsOf(part).one.text} for ${rows.length} rows: ${keys.join(", ")}`;
  }

  /** Prepares the statements again: a failed commit leaves open which of its statements were prepared. */
  forget(): void {
    this.#prepared.clear();
  }

  #addPart(buffer: MessageBuffer, part: Part, rows: readonly Primitive[][]): void {
    const { one, many } = this.#statementsOf(part);
    const [row] = rows;
    const single = rows.length === 1 && row !== undefined;
    this.#execute(buffer, single ? one : many, part.columns.length, () => {
      let index = 0;
      for (const { type } of part.columns) {
        if (single) putValue(buffer, type, row[index] ?? null);
        else putColumn(buffer, type, rows, index);
        index += 1;
      }
    });
  }

  #statementsOf(part: Part): { one: Statement; many: Statement } {
    const known = this.#statements.get(part);
    if (known !== undefined) return known;
    const name = `part_${this.#statements.size}`;
    const made = {
      one: {
        name: `${name}_one`,
        text: part.text(
          selected(part, (type, place) => `$${place}::${type}`),
          "1",
        ),
      },
      many: {
        name: `${name}_many`,
        text: part.text(
          selected(part, (type, place) => `unnest($${place}::${type}[])`),
          "cardinality($1)",
        ),
      },
    };
    this.#statements.set(part, made);
    return made;
  }

  #execute(buffer: MessageBuffer, { name, text }: Statement, count: number, putValues: () => void): void {
    if (!this.#prepared.has(name)) {
      this.#prepared.add(name);
      // No error when the statement does not exist.
      message(buffer, CODE.close, () => {
        buffer.byte(CODE.statement);
        buffer.name(name);
      });
      message(buffer, CODE.parse, () => {
        buffer.name(name);
        buffer.name(text);
        buffer.int16(0);
      });
    }
    message(buffer, CODE.bind, () => {
      buffer.name("");
      buffer.name(name);
      buffer.int16(1);
      buffer.int16(BINARY);
      buffer.int16(count);
      putValues();
      buffer.int16(0);
    });
    message(buffer, CODE.execute, () => {
      buffer.name("");
      buffer.int32(0);
    });
  }
}

function putFence(buffer: MessageBuffer, { owner, number, counters, result, commands }: Fence): void {
  for (const value of [owner.member, owner.epoch, number]) putValue(buffer, "int8", value);
  putColumn(
    buffer,
    "int8",
    counters.map((value): [number] => [value]),
    0,
  );
  putValue(buffer, "text", result);
  putValue(buffer, "text", commands);
}

function selected(part: Part, value: (type: PostgresType, place: number) => string): string {
  return `SELECT ${part.columns.map(({ name, type }, index) => `${value(type, index + 1)} AS ${name}`).join(", ")}`;
}
