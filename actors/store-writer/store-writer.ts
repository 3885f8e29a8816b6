/**
 * The store writer: commits batches and sends the committed feed.
 *
 * Messages in: batches with their log blocks, its own probe timer. Effects out: the committed feed to the gateway, the
 * outcome to the core. Only this actor owns the read-write handle. When a commit fails (full disk, I/O error), the store
 * writer becomes read-only, announces that, and probes until writes succeed; the core decides the refused changes again.
 * Until then only batches without changes pass: answers to reads.
 */
import type { Committed, FeedRead, ReadOnly, Reloaded } from "#protocol/wire/feed";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { StorageError } from "#storage/sqlite/storage-error";
import { type BatchOutcome, changesRows } from "#storage/write/batch";
import type { CommitRequest, Writer } from "#storage/write/writer";
import type { Checkpoint, Checkpointed } from "../checkpointer/checkpointer.ts";
import { CHECKPOINTER, COMMITS, GATEWAY } from "../names.ts";
import type { WriterStarted } from "./commit-client.ts";
import { FeedWindow } from "./feed-window.ts";

/** Interval of the probes of a read-only store. */
const PROBE_US = 1_000_000;
/** Interval of the file checks: a store that was taken away stops accepting writes within two seconds. */
const LOOK_US = 500_000;

interface Probe {
  kind: "Probe";
}

interface Look {
  kind: "Look";
}

/** Checks that the files of the store are still in place and complete. */
export interface WatchedFiles {
  problem(): string | null;
  note(problem: string): void;
  clear(): void;
}

/** What the writers get at each start. */
export interface OpenedStore {
  writer: Writer;
  /** Null for a store in memory. */
  files: WatchedFiles | null;
  close(failed: boolean): void;
}

/**
 * A checkpoint is requested after this many commits or values of row operations, which fill some 4,000 pages of the WAL. A page
 * that several commits changed is copied once, so rare checkpoints cost less; the number of values keeps the WAL of large commits
 * well below the size at which a commit itself copies the WAL (storage/sqlite/pragmas.ts).
 */
const CHECKPOINT_COMMITS = 128;
const CHECKPOINT_VALUES = 400_000;
/** A checkpoint without an answer for this long is requested again. */
const CHECKPOINT_WAIT_US = 10_000_000;

/**
 * Requests WriterStarted: from the log writer at its start (source null), or for a GenerationRequest of a commit client, which
 * the log writer passed on.
 */
export interface ReportGeneration {
  kind: "ReportGeneration";
  source: number | null;
  generation: number;
}

type StoreWriterMessage = CommitRequest | Probe | Look | ReportGeneration | Checkpointed | FeedRead;

export class StoreWriter implements Actor<StoreWriterMessage> {
  readonly #writer: Writer;
  readonly #nowUs: () => number;
  readonly #close: (failed: boolean) => void;
  readonly #feed = new FeedWindow();
  #readOnly = false;
  #commitsSinceCheckpoint = 0;
  #valuesSinceCheckpoint = 0;
  #checkpointAskedUs: number | null = null;
  #files: WatchedFiles | null = null;
  /** Refusals so far: of a batch by its commit, or of the batch in flight by a file check. */
  #refusals = 0;

  constructor(writer: Writer, nowUs: () => number, close: (failed: boolean) => void) {
    this.#writer = writer;
    this.#nowUs = nowUs;
    this.#close = close;
  }

  /** Starts checking the files. */
  watch(files: WatchedFiles, out: Outbox): void {
    this.#files = files;
    out.setTimer("look", this.#nowUs() + LOOK_US, { kind: "Look" });
  }

  receive(message: StoreWriterMessage, out: Outbox): void {
    if ("kind" in message) return this.#handle(message, out);
    const { batch } = message;
    const wasGivenUp = batch.refusals !== this.#refusals;
    if (wasGivenUp || (this.#readOnly && changesRows(batch))) return;
    try {
      this.#commit(message, out);
    } catch (cause) {
      if (!(cause instanceof StorageError) || cause.fault === "operation") throw cause;
      this.#refuse(cause, out);
    }
  }

  stop(failed: boolean): void {
    this.#close(failed);
  }

  #handle(message: Exclude<StoreWriterMessage, CommitRequest>, out: Outbox): void {
    if (message.kind === "Probe") return this.#probe(out);
    if (message.kind === "Look") return this.#look(out);
    if (message.kind === "ReportGeneration") return this.#reportGeneration(message, out);
    if (message.kind === "FeedRead") return this.#feedRead(message.seq, out);
    this.#checkpointAskedUs = null;
    // The checkpointer reads concurrently with commits; only here, between two commits, missing pages can be detected
    // reliably.
    if (!message.copied) this.#look(out);
  }

  /** Sends the current number to a gateway that has caught up, so that it detects missing messages. */
  #feedRead(seq: number, out: Outbox): void {
    if (!this.#feed.read(seq)) return;
    const first_seq = this.#writer.latestSeq + 1;
    out.send(GATEWAY, { kind: "Committed", replies: [], stream: [], first_seq, first_event_id: 0, logs: [] } satisfies Committed);
  }

  /** Requests a checkpoint when enough was committed since the one before, one at a time. */
  #askForCheckpoint(values: number, out: Outbox): void {
    this.#commitsSinceCheckpoint += 1;
    this.#valuesSinceCheckpoint += values;
    const nowUs = this.#nowUs();
    const underWay = this.#checkpointAskedUs !== null && nowUs - this.#checkpointAskedUs < CHECKPOINT_WAIT_US;
    const due = this.#commitsSinceCheckpoint >= CHECKPOINT_COMMITS || this.#valuesSinceCheckpoint >= CHECKPOINT_VALUES;
    if (underWay || !due) return;
    this.#commitsSinceCheckpoint = 0;
    this.#valuesSinceCheckpoint = 0;
    this.#checkpointAskedUs = nowUs;
    out.send(CHECKPOINTER, { kind: "Checkpoint" } satisfies Checkpoint);
  }

  #commit(request: CommitRequest, out: Outbox): void {
    const { batch } = request;
    const committed: Committed = {
      kind: "Committed",
      replies: batch.replies,
      stream: batch.stream,
      first_seq: 0,
      first_event_id: 0,
      logs: [],
    };
    let tookUs: number | null = null;
    if (changesRows(batch)) {
      const startUs = this.#nowUs();
      const result = this.#writer.commit(request);
      committed.first_seq = result.first_seq;
      committed.first_event_id = result.first_event_id;
      committed.logs = result.logs;
      tookUs = this.#nowUs() - startUs;
      this.#askForCheckpoint(batch.ops.length, out);
    }
    // At the start of a core, send the gateway the current stream number, so that its first message leaves no gap.
    if (batch.epoch !== null && committed.first_seq === 0) committed.first_seq = this.#writer.latestSeq + 1;
    if (batch.epoch !== null) this.#feed.reset();
    if (committed.replies.length + committed.stream.length > 0 || batch.epoch !== null)
      out.send(GATEWAY, this.#feed.admit(committed));
    if (batch.epoch !== null) out.send(GATEWAY, { kind: "Reloaded", epoch: batch.epoch } satisfies Reloaded);
    out.send(COMMITS, {
      kind: "Acknowledged",
      number: batch.number,
      first_event_id: committed.first_event_id,
      last_seq: this.#writer.latestSeq,
      took_us: tookUs,
    } satisfies BatchOutcome);
  }

  #look(out: Outbox): void {
    out.setTimer("look", this.#nowUs() + LOOK_US, { kind: "Look" });
    const problem = this.#readOnly ? null : (this.#files?.problem() ?? null);
    if (problem === null) return;
    this.#files?.note(problem);
    // As if the batch in flight had failed.
    this.#refuse(new StorageError("io", problem), out);
  }

  #refuse(error: StorageError, out: Outbox): void {
    this.#readOnly = true;
    this.#refusals += 1;
    const status = error.disk_full ? 507 : 503;
    out.send(GATEWAY, { kind: "ReadOnly", on: true, status, error: error.message, since: this.#nowUs() } satisfies ReadOnly);
    const refused = { kind: "Rejected", refusals: this.#refusals, error: error.message, disk_full: error.disk_full } as const;
    out.send(COMMITS, refused satisfies BatchOutcome);
    out.setTimer("probe", this.#nowUs() + PROBE_US, { kind: "Probe" });
  }

  #probe(out: Outbox): void {
    // A probe also succeeds in a deleted file, so check the files first.
    const problem = this.#files?.problem() ?? null;
    if (problem !== null || !this.#writer.probe()) return out.setTimer("probe", this.#nowUs() + PROBE_US, { kind: "Probe" });
    this.#readOnly = false;
    this.#files?.clear();
    out.send(GATEWAY, { kind: "ReadOnly", on: false, status: 503, error: "", since: 0 } satisfies ReadOnly);
    out.send(COMMITS, { kind: "Writable" });
  }

  #reportGeneration({ generation, source }: ReportGeneration, out: Outbox): void {
    const standing = { last_seq: this.#writer.latestSeq, refusals: this.#refusals, read_only: this.#readOnly };
    out.send(COMMITS, { kind: "WriterStarted", source, generation, ...standing } satisfies WriterStarted);
  }
}
