/**
 * The store as the writing actors see it: no driver, no SQL, no error of a database. SQLite is behind it
 * (storage/write/sqlite-store.ts), or PostgreSQL (storage/postgres/store.ts).
 *
 * Each commit has the number after the one before. The store keeps the number of its newest commit with the epoch of the
 * process that owns it, and a commit is applied only where both agree. So a commit that is sent again changes nothing, and a
 * former owner stores nothing.
 */
import type { LogBlocks } from "./schema/log-blocks.ts";
import type { Batch } from "./write/batch.ts";

/** Who writes: the epoch of a member rises each time it opens the store for writing. */
export interface Owner {
  member: number;
  epoch: number;
}

/** A batch, with the log blocks that the log writer built from its log lines. The number of the commit is that of the batch. */
export interface CommitRequest {
  batch: Batch;
  logs: LogBlocks;
}

export interface CommitResult {
  /** Number of the commit. */
  number: number;
  first_event_id: number;
  /** Flat: run id, id of the last line, number of lines; repeated. */
  logs: number[];
  first_seq: number;
}

export type CommitOutcome =
  /** Stored now, or stored before under this number. */
  | { kind: "applied" | "already"; result: CommitResult }
  /** Another process owns the store: nothing of this commit is stored, nor of any later one. */
  | { kind: "fenced" }
  /** Nothing is stored under this number, by this attempt or by an earlier one. */
  | { kind: "refused"; error: string; disk_full: boolean }
  /** It is not known whether the commit is stored. The same request has to be made again, with the same content. */
  | { kind: "unknown"; error: string };

export type Reconnection =
  | { kind: "connected" }
  /** Another process owns the store. */
  | { kind: "fenced" }
  /** The attempt can be made again. */
  | { kind: "unreachable"; error: string };

/** A store opened for writing. */
export interface WritableStore {
  readonly owner: Owner;
  /** The newest commit. */
  readonly number: number;
  /** The highest stream number assigned. */
  readonly latestSeq: number;
  /** Id of the next log line; the log writer starts there. */
  readonly nextLogId: number;
  /** Commands decided by the newest commit, whose answers may not have been sent. */
  readonly decidedCommands: readonly number[];
  /** One commit at a time. Throws for a commit that no store could take: that is a defect. */
  commit(request: CommitRequest): CommitOutcome | Promise<CommitOutcome>;
  /** True when a commit may be made again: the store takes writes, or the commit will say why it never will. */
  probe(): boolean | Promise<boolean>;
  /**
   * Connects again, for a store that is reached by a connection: null while there is one. Not to be called during a commit or a
   * probe, which connect by themselves. Never rejects.
   */
  reconnect?(): Promise<Reconnection> | null;
  close(failed: boolean): void | Promise<void>;
}
