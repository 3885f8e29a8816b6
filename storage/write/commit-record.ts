/**
 * Results of the last commits, by source and batch number: a batch that is resent after a crash of the writer changes nothing
 * and gets its former result. The ids of the decided commands are kept too: when the core has also ended, its batch is never
 * resent, and those commands must not be taken for undecided.
 */
import type { Statements } from "../sqlite/statements.ts";
import { StorageError } from "../sqlite/storage-error.ts";

export interface CommitResult {
  /** Number of the batch. */
  number: number;
  first_event_id: number;
  /** Flat: run id, id of the last line, number of lines; repeated. */
  logs: number[];
  first_seq: number;
}

/** Commits kept per source: more than can be unacknowledged. */
const COMMITS_KEPT = 16;

/** Rows of older commits are deleted together: a statement for each commit would take a tenth of a small one. */
const COMMITS_PER_TRIM = 16;

/** The column `bases` holds a list with one of these. */
type StoredResult = [number: number, first_event_id: number, first_seq: number, ...logs: number[]];

export class CommitRecord {
  readonly #statements: Statements;
  /** The results of the kept commits by source, the newest last. */
  readonly #kept = new Map<number, CommitResult[]>();
  #pending: { source: number; result: CommitResult } | null = null;

  constructor(statements: Statements) {
    this.#statements = statements;
    const rows = statements.raw<[number, string]>("SELECT source, bases FROM commits ORDER BY source, number");
    for (const [source, bases] of rows.all()) {
      const [[number, first_event_id, first_seq, ...logs]] = JSON.parse(bases) as [StoredResult];
      this.#remember(source, { number, first_event_id, first_seq, logs });
    }
  }

  /** The result of a committed batch, null for a new batch. Throws when the batch is older than the kept commits. */
  find(source: number, number: number): CommitResult | null {
    const kept = this.#kept.get(source) ?? [];
    if (number > (kept.at(-1)?.number ?? 0)) return null;
    const known = kept.find((result) => result.number === number);
    if (known === undefined)
      throw new StorageError("operation", `batch ${number} of source ${source} was committed too long ago`);
    return known;
  }

  /** The commands decided by the kept commits. */
  commands(): number[] {
    const rows = this.#statements.raw<[number, number, string]>(
      "SELECT source, number, commands FROM commits ORDER BY source, number",
    );
    return rows.all().flatMap(([source, number, commands]) => {
      const kept = this.#kept.get(source)?.some((result) => result.number === number) === true;
      return kept ? (JSON.parse(commands) as number[]) : [];
    });
  }

  /** After a process start, no batch of an earlier process is resent and no client waits for its answers. */
  forgetAll(): void {
    this.#statements.raw("DELETE FROM commits").run();
    this.#kept.clear();
  }

  /** Writes the result of a batch and the ids of the commands it answers; `committed` or `rolledBack` must follow. */
  write(source: number, result: CommitResult, commands: readonly number[]): void {
    const { number, first_event_id, first_seq, logs } = result;
    const stored: [StoredResult] = [[number, first_event_id, first_seq, ...logs]];
    this.#statements
      .raw("INSERT INTO commits (source, number, bases, commands) VALUES (?, ?, ?, ?)")
      .run(source, number, JSON.stringify(stored), JSON.stringify(commands));
    const oldest = this.#kept.get(source)?.at(-COMMITS_KEPT);
    if (oldest !== undefined && number % COMMITS_PER_TRIM === 0)
      this.#statements.raw("DELETE FROM commits WHERE source = ? AND number <= ?").run(source, oldest.number);
    this.#pending = { source, result };
  }

  committed(): void {
    if (this.#pending !== null) this.#remember(this.#pending.source, this.#pending.result);
    this.#pending = null;
  }

  rolledBack(): void {
    this.#pending = null;
  }

  #remember(source: number, result: CommitResult): void {
    const kept = this.#kept.get(source) ?? [];
    kept.push(result);
    if (kept.length > COMMITS_KEPT) kept.shift();
    this.#kept.set(source, kept);
  }
}
