/**
 * The row of the member that owns the store: its epoch, the number of the newest commit, what this commit was answered, and the
 * commands that it decided. Each commit changes the row, where epoch and number are those it expects.
 *
 * One commit is enough: a core sends its next batch after the answer to the one before, and answers leave in order.
 */
import type { CommitResult, Owner } from "../port.ts";
import type { Statements } from "../sqlite/statements.ts";
import { StorageError, toStorageError } from "../sqlite/storage-error.ts";

/** SQLite has one member. */
const MEMBER = 1;

const READ = `SELECT epoch, number, result FROM members WHERE member = ${MEMBER}`;
const READ_COMMANDS = `SELECT commands FROM members WHERE member = ${MEMBER}`;
const OPEN = `UPDATE members SET epoch = epoch + 1 WHERE member = ${MEMBER} AND epoch = ?`;
const FORGET = `UPDATE members SET commands = '[]' WHERE member = ${MEMBER}`;
const COMMIT = `UPDATE members SET number = ?, result = ?, commands = ?
  WHERE member = ${MEMBER} AND epoch = ? AND number = ?`;

/** The column `result` holds one of these. */
type StoredResult = [first_event_id: number, first_seq: number, ...logs: number[]];

type Row = [epoch: number, number: number, result: string];

export class MemberRow {
  readonly #statements: Statements;
  readonly #epoch: number;
  #newest: CommitResult;
  #pending: CommitResult | null = null;

  /** Opens the store for writing; `former` is the owner that these writers continue, null at the start of a process. */
  constructor(statements: Statements, former: Owner | null) {
    this.#statements = statements;
    const [epoch, number, result] = this.#read();
    // Where another process has opened the store since, these writers stay in an epoch in which no commit is applied.
    this.#epoch = former !== null && former.epoch !== epoch ? former.epoch : this.#open(epoch);
    const [first_event_id, first_seq, ...logs] = JSON.parse(result) as StoredResult;
    this.#newest = { number, first_event_id, first_seq, logs };
  }

  get owner(): Owner {
    return { member: MEMBER, epoch: this.#epoch };
  }

  /** Number of the newest commit. */
  get number(): number {
    return this.#newest.number;
  }

  /** The result of a commit that is stored, null for the next one. */
  find(number: number): CommitResult | null {
    return number === this.#newest.number ? this.#newest : null;
  }

  /** The commands decided by the newest commit. */
  commands(): number[] {
    return JSON.parse(this.#statements.raw<[string]>(READ_COMMANDS).get()?.[0] ?? "[]") as number[];
  }

  /** After a process start, no client waits for answers of an earlier process. */
  forgetCommands(): void {
    this.#statements.raw(FORGET).run();
  }

  /**
   * Puts the commit into the row, if it is the next one of this owner; throws otherwise. `committed` or `rolledBack` must follow.
   */
  write(result: CommitResult, commands: readonly number[]): void {
    const { number, first_event_id, first_seq, logs } = result;
    const stored: StoredResult = [first_event_id, first_seq, ...logs];
    const { changes } = this.#statements
      .raw(COMMIT)
      .run(number, JSON.stringify(stored), JSON.stringify(commands), this.#epoch, number - 1);
    if (changes === 0) throw this.#divergence(number);
    this.#pending = result;
  }

  committed(): void {
    if (this.#pending !== null) this.#newest = this.#pending;
    this.#pending = null;
  }

  rolledBack(): void {
    this.#pending = null;
  }

  #divergence(number: number): StorageError {
    const [epoch, newest] = this.#read();
    if (epoch !== this.#epoch) return takenOver();
    return new StorageError("operation", `commit ${number} does not follow commit ${newest}`);
  }

  #read(): Row {
    const row = this.#statements.raw<Row>(READ).get();
    if (row === undefined) throw new StorageError("corrupt", "the store has no row of its owner");
    return row;
  }

  /** The new epoch; writers that start again while the store takes no writes go on in the epoch they have. */
  #open(epoch: number): number {
    try {
      if (this.#statements.raw(OPEN).run(epoch).changes === 0) throw takenOver();
      return epoch + 1;
    } catch (cause) {
      const error = toStorageError(cause);
      if (error.fault !== "full" && error.fault !== "io" && error.fault !== "busy") throw error;
      return epoch;
    }
  }
}

function takenOver(): StorageError {
  return new StorageError("fenced", "another Millrace has taken over the store");
}
