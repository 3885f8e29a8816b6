/** SQLite behind the port of the writers: commits are synchronous, and each either is stored or is not. */
import type { CommitOutcome, CommitRequest, Owner, WritableStore } from "../port.ts";
import { toStorageError } from "../sqlite/storage-error.ts";
import type { Writer } from "./writer.ts";

export class SqliteStore implements WritableStore {
  readonly #writer: Writer;
  readonly close: (failed: boolean) => void;

  constructor(writer: Writer, close: (failed: boolean) => void) {
    this.#writer = writer;
    this.close = close;
  }

  get owner(): Owner {
    return this.#writer.owner;
  }

  get number(): number {
    return this.#writer.number;
  }

  get latestSeq(): number {
    return this.#writer.latestSeq;
  }

  get nextLogId(): number {
    return this.#writer.nextLogId;
  }

  get decidedCommands(): readonly number[] {
    return this.#writer.decidedCommands;
  }

  commit(request: CommitRequest): CommitOutcome {
    const kind = request.batch.number === this.#writer.number ? "already" : "applied";
    try {
      return { kind, result: this.#writer.commit(request) };
    } catch (cause) {
      const error = toStorageError(cause);
      if (error.fault === "operation") throw error;
      if (error.fault === "fenced") return { kind: "fenced" };
      return { kind: "refused", error: error.message, disk_full: error.disk_full };
    }
  }

  probe(): boolean {
    return this.#writer.probe();
  }
}
