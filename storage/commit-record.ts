/**
 * What the last commits answered, by source and batch number: a batch that comes again after a crash of the writer
 * gets the same numbers and changes nothing.
 */
import type { Statements } from "./statements.ts";
import { StorageError } from "./storage-error.ts";

export interface CommitResult {
  /** Number of the batch. */
  number: number;
  first_event_id: number;
  /** Flat: run id, id of the last line, number of lines; repeated. */
  logs: number[];
  first_seq: number;
}

/** Commits kept: more than can be under way unacknowledged. */
const COMMITS_KEPT = 16;

type StoredResult = [number: number, first_event_id: number, first_seq: number, ...logs: number[]];

export class CommitRecord {
  readonly #statements: Statements;
  readonly #last = new Map<number, number>();
  readonly #results = new Map<string, CommitResult>();
  /** Per source: for each kept commit its last batch and the batches in it. */
  readonly #kept = new Map<number, { number: number; batches: number[] }[]>();
  #pending: { source: number; results: CommitResult[] }[] = [];

  constructor(statements: Statements) {
    this.#statements = statements;
    const rows = statements.raw<[number, number, string]>("SELECT source, number, bases FROM commits ORDER BY source, number");
    for (const [source, , bases] of rows.all()) {
      const stored = JSON.parse(bases) as StoredResult[];
      this.#remember(
        source,
        stored.map(([number, first_event_id, first_seq, ...logs]) => ({ number, first_event_id, first_seq, logs })),
      );
    }
  }

  /** The result of a batch that was committed before; null for a new one. Throws when it is too old to know. */
  find(source: number, number: number): CommitResult | null {
    const known = this.#results.get(`${source}:${number}`);
    if (known !== undefined) return known;
    if (number <= (this.#last.get(source) ?? 0))
      throw new StorageError("operation", `batch ${number} of source ${source} was committed too long ago`, number);
    return null;
  }

  /** Writes the results of a commit; call `committed` or `rolledBack` afterwards. */
  write(results: readonly { source: number; result: CommitResult }[]): void {
    const bySource = new Map<number, CommitResult[]>();
    for (const { source, result } of results) {
      const list = bySource.get(source);
      if (list === undefined) bySource.set(source, [result]);
      else list.push(result);
    }
    for (const [source, list] of bySource) {
      const number = list.at(-1)?.number ?? 0;
      const stored = list.map((one): StoredResult => [one.number, one.first_event_id, one.first_seq, ...one.logs]);
      this.#statements
        .raw("INSERT INTO commits (source, number, bases) VALUES (?, ?, ?)")
        .run(source, number, JSON.stringify(stored));
      const kept = this.#kept.get(source) ?? [];
      const oldest = kept[kept.length - COMMITS_KEPT];
      if (oldest !== undefined)
        this.#statements.raw("DELETE FROM commits WHERE source = ? AND number <= ?").run(source, oldest.number);
      this.#pending.push({ source, results: list });
    }
  }

  committed(): void {
    for (const { source, results } of this.#pending) this.#remember(source, results);
    this.#pending = [];
  }

  rolledBack(): void {
    this.#pending = [];
  }

  #remember(source: number, results: readonly CommitResult[]): void {
    const number = results.at(-1)?.number ?? 0;
    this.#last.set(source, number);
    for (const result of results) this.#results.set(`${source}:${result.number}`, result);
    const kept = this.#kept.get(source) ?? [];
    kept.push({ number, batches: results.map((result) => result.number) });
    this.#kept.set(source, kept);
    if (kept.length <= COMMITS_KEPT) return;
    for (const batch of kept.shift()?.batches ?? []) this.#results.delete(`${source}:${batch}`);
  }
}
