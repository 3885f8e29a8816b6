/**
 * Results of the last commits, by source and batch number: a batch that is resent after a crash of the writer changes nothing
 * and gets its former result. The ids of the decided commands are kept too: when the core has also ended, its batch is never
 * resent, and those commands must not be taken for undecided.
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

/** A batch of the commit in progress. */
export interface AppliedBatch {
  source: number;
  result: CommitResult;
  /** Ids of the commands that the batch answers. */
  commands: readonly number[];
}

/** Commits kept per source: more than can be unacknowledged. */
const COMMITS_KEPT = 16;

type StoredResult = [number: number, first_event_id: number, first_seq: number, ...logs: number[]];

export class CommitRecord {
  readonly #statements: Statements;
  readonly #last = new Map<number, number>();
  readonly #results = new Map<string, CommitResult>();
  /** Per source and kept commit: its last batch number and all its batch numbers. */
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

  /** The result of a committed batch, null for a new batch. Throws when the batch is older than the kept commits. */
  find(source: number, number: number): CommitResult | null {
    const known = this.#results.get(`${source}:${number}`);
    if (known !== undefined) return known;
    if (number <= (this.#last.get(source) ?? 0))
      throw new StorageError("operation", `batch ${number} of source ${source} was committed too long ago`, number);
    return null;
  }

  /** The commands decided by the kept commits. */
  commands(): number[] {
    const rows = this.#statements.raw<[string]>("SELECT commands FROM commits ORDER BY source, number").all();
    return rows.flatMap(([commands]) => JSON.parse(commands) as number[]);
  }

  /** After a process start, no batch of an earlier process is resent and no client waits for its answers. */
  forgetAll(): void {
    this.#statements.raw("DELETE FROM commits").run();
    this.#last.clear();
    this.#results.clear();
    this.#kept.clear();
  }

  /** Writes the results of a commit; `committed` or `rolledBack` must follow. */
  write(batches: readonly AppliedBatch[]): void {
    const bySource = new Map<number, { results: CommitResult[]; commands: number[] }>();
    for (const { source, result, commands } of batches) {
      const known = bySource.get(source);
      known?.results.push(result);
      known?.commands.push(...commands);
      if (known === undefined) bySource.set(source, { results: [result], commands: [...commands] });
    }
    for (const [source, { results, commands }] of bySource) {
      const number = results.at(-1)?.number ?? 0;
      const stored = results.map((one): StoredResult => [one.number, one.first_event_id, one.first_seq, ...one.logs]);
      this.#statements
        .raw("INSERT INTO commits (source, number, bases, commands) VALUES (?, ?, ?, ?)")
        .run(source, number, JSON.stringify(stored), JSON.stringify(commands));
      const kept = this.#kept.get(source) ?? [];
      const oldest = kept[kept.length - COMMITS_KEPT];
      if (oldest !== undefined)
        this.#statements.raw("DELETE FROM commits WHERE source = ? AND number <= ?").run(source, oldest.number);
      this.#pending.push({ source, results });
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
