/**
 * The store writer: commits batches and sends the committed feed.
 *
 * Messages in: batches with their log blocks, its own timers. Effects out: the committed feed to the gateway, the outcome to
 * the core. Only this actor writes to the store, through the port of storage/port.ts. When the store refuses a commit (full
 * disk, I/O error), the store writer becomes read-only, announces that, and probes until writes succeed; the core decides the
 * refused changes again. Until then only batches without changes pass: answers to reads.
 *
 * When another process owns the store, the store writer stays read-only and does not probe. A store whose connection is lost while
 * no commit is made is connected again, because the connection keeps other servers away.
 *
 * A commit may take its time: while it is under way, all other messages wait in their order. A commit whose outcome is unknown
 * is made again, unchanged, until the store answers.
 */
import { type Committed, committedAnswers, type FeedRead, type Reloaded } from "#protocol/wire/feed";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import type { CommitOutcome, CommitRequest, CommitResult, Reconnection, WritableStore } from "#storage/port";
import { type Batch, type BatchOutcome, changesRows } from "#storage/write/batch";
import type { Checkpoint, Checkpointed } from "../checkpointer/checkpointer.ts";
import { CHECKPOINTER, COMMITS, GATEWAY } from "../names.ts";
import type { WriterStarted } from "./commit-client.ts";
import { FeedWindow } from "./feed-window.ts";
import { StoreCondition } from "./store-condition.ts";

/** Interval of the probes of a read-only store. */
const PROBE_US = 1_000_000;
/** Interval of the looks at the files or the connection: a store that was taken away stops accepting writes within two seconds. */
const LOOK_US = 500_000;
/** Why a store that another process owns takes no writes, until this process is started again. */
const TAKEN_OVER = "another Millrace has taken over the store; this one only reads until it is started again";
/** How long after an unknown outcome the commit is made again. */
const AGAIN_US = 100_000;
/** A commit without an answer for this long is one that hangs: a large one, such as that of a deletion, takes less. */
const HANGING_US_MIN = 10_000_000;

interface Probe {
  kind: "Probe";
}

/** The store has answered a probe that took its time. */
export interface Probed {
  kind: "Probed";
  /** The probe that was under way. */
  probe: Promise<boolean>;
  takesWrites: boolean;
}

interface Look {
  kind: "Look";
}

/** The store was reached again after its connection was lost, or not. */
export interface Reconnected {
  kind: "Reconnected";
  /** The attempt that was under way. */
  attempt: Promise<Reconnection>;
  outcome: Reconnection;
}

/** Checks that the files of the store are still in place and complete. */
export interface WatchedFiles {
  problem(): string | null;
  note(problem: string): void;
  clear(): void;
}

/** What the writers get at each start. */
export interface OpenedStore {
  store: WritableStore;
  /** Null for a store in memory. */
  files: WatchedFiles | null;
}

/** The commit that the store has been asked for. */
interface UnderWay {
  request: CommitRequest;
  startUs: number;
}

/** Makes the commit again whose outcome is unknown. */
interface CommitAgain {
  kind: "CommitAgain";
}

/** The store has answered a commit that took its time. */
export interface CommitDone {
  kind: "CommitDone";
  underWay: UnderWay;
  /** An error is a defect. */
  outcome: CommitOutcome | Error;
}

export interface StoreWriterPorts {
  nowUs(): number;
  /** Delivers the message to this actor. */
  done(message: CommitDone | Probed | Reconnected): void;
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

type OrderedMessage = CommitRequest | Probe | ReportGeneration | Checkpointed | FeedRead;
type StoreWriterMessage = OrderedMessage | Look | CommitAgain | CommitDone | Probed | Reconnected;

export class StoreWriter implements Actor<StoreWriterMessage> {
  readonly #store: WritableStore;
  readonly #ports: StoreWriterPorts;
  readonly #nowUs: () => number;
  readonly #condition: StoreCondition;
  readonly #feed = new FeedWindow();
  #readOnly = false;
  #commitsSinceCheckpoint = 0;
  #valuesSinceCheckpoint = 0;
  #checkpointAskedUs: number | null = null;
  #files: WatchedFiles | null = null;
  /** Refusals so far: of a batch by its commit, or of the batch in flight by a file check. */
  #refusals = 0;
  #underWay: UnderWay | null = null;
  #probeUnderWay: Promise<boolean> | null = null;
  /** Commits wait for its end. */
  #reconnecting: Promise<Reconnection> | null = null;
  /** What has arrived while a commit is under way. */
  #waiting: OrderedMessage[] = [];

  constructor(store: WritableStore, ports: StoreWriterPorts) {
    this.#store = store;
    this.#ports = ports;
    this.#nowUs = ports.nowUs;
    this.#condition = new StoreCondition(ports.nowUs);
  }

  /** Starts looking at the files and at the connection of the store. */
  watch(files: WatchedFiles | null, out: Outbox): void {
    this.#files = files;
    out.setTimer("look", this.#nowUs() + LOOK_US, { kind: "Look" });
  }

  receive(message: StoreWriterMessage, out: Outbox): void {
    if ("kind" in message && message.kind === "CommitDone") this.#done(message, out);
    else if ("kind" in message && message.kind === "CommitAgain") this.#attempt(out);
    else if ("kind" in message && message.kind === "Probed") this.#endProbe(message, out);
    else if ("kind" in message && message.kind === "Reconnected") this.#endReconnect(message, out);
    else if ("kind" in message && message.kind === "Look") this.#look(out);
    else if (this.#underWay !== null) this.#waiting.push(message);
    else this.#take(message, out);
  }

  stop(failed: boolean): void | Promise<void> {
    return this.#store.close(failed);
  }

  #take(message: OrderedMessage, out: Outbox): void {
    if ("kind" in message) return this.#handle(message, out);
    const { batch } = message;
    const wasGivenUp = batch.refusals !== this.#refusals;
    if (wasGivenUp || (this.#readOnly && changesRows(batch))) return;
    if (!changesRows(batch)) return this.#acknowledge(batch, null, null, out);
    this.#underWay = { request: message, startUs: this.#nowUs() };
    this.#attempt(out);
  }

  #attempt(out: Outbox): void {
    const underWay = this.#underWay;
    if (underWay === null || this.#reconnecting !== null) return;
    const outcome = this.#store.commit(underWay.request);
    if (!(outcome instanceof Promise)) return this.#settle(underWay, outcome, out);
    const done = (result: CommitOutcome | Error): void => this.#ports.done({ kind: "CommitDone", underWay, outcome: result });
    outcome.then(done, (cause: unknown) => done(cause instanceof Error ? cause : new Error(String(cause))));
  }

  #done({ underWay, outcome }: CommitDone, out: Outbox): void {
    // The answer to writers that have ended: their batch is sent again.
    if (underWay !== this.#underWay) return;
    if (outcome instanceof Error) throw outcome;
    this.#settle(underWay, outcome, out);
  }

  #settle(underWay: UnderWay, outcome: CommitOutcome, out: Outbox): void {
    const { request, startUs } = underWay;
    switch (outcome.kind) {
      case "unknown":
        out.setTimer("again", this.#nowUs() + AGAIN_US, { kind: "CommitAgain" });
        return this.#condition.isSilent(startUs, outcome.error, out);
      case "fenced":
        this.#underWay = null;
        this.#refuse({ error: TAKEN_OVER, disk_full: false }, out);
        break;
      case "refused":
        this.#underWay = null;
        this.#refuse(outcome, out);
        this.#probeLater(out);
        break;
      default:
        this.#underWay = null;
        this.#condition.answers(out);
        this.#acknowledge(request.batch, outcome.result, this.#nowUs() - startUs, out);
        this.#askForCheckpoint(request.batch.ops.length, out);
    }
    if (this.#waiting.length > 0) this.#takeWaiting(out);
  }

  #takeWaiting(out: Outbox): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.receive(message, out);
  }

  #handle(message: Exclude<OrderedMessage, CommitRequest>, out: Outbox): void {
    if (message.kind === "Probe") return this.#probe(out);
    if (message.kind === "ReportGeneration") return this.#reportGeneration(message, out);
    if (message.kind === "FeedRead") return this.#feedRead(message.seq, out);
    this.#checkpointAskedUs = null;
    // The checkpointer reads concurrently with commits; only here, between two commits, missing pages can be detected
    // reliably.
    if (!message.copied) this.#checkFiles(out);
  }

  /** Sends the current number to a gateway that has caught up, so that it detects missing messages. */
  #feedRead(seq: number, out: Outbox): void {
    if (!this.#feed.read(seq)) return;
    const first_seq = this.#store.latestSeq + 1;
    out.send(GATEWAY, { ...committedAnswers([]), first_seq } satisfies Committed);
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

  /** Sends the feed and the answer to the core; `result` is null for a batch without changes. */
  #acknowledge(batch: Batch, result: CommitResult | null, tookUs: number | null, out: Outbox): void {
    const committed: Committed = {
      kind: "Committed",
      replies: batch.replies,
      stream: batch.stream,
      runs: batch.runs,
      first_seq: result?.first_seq ?? 0,
      first_event_id: result?.first_event_id ?? 0,
      logs: result?.logs ?? [],
    };
    // At the start of a core, send the gateway the current stream number, so that its first message leaves no gap.
    if (batch.epoch !== null && committed.first_seq === 0) committed.first_seq = this.#store.latestSeq + 1;
    if (batch.epoch !== null) this.#feed.reset();
    if (committed.replies.length + committed.stream.length > 0 || batch.epoch !== null)
      out.send(GATEWAY, this.#feed.admit(committed));
    if (batch.epoch !== null) out.send(GATEWAY, { kind: "Reloaded", epoch: batch.epoch } satisfies Reloaded);
    out.send(COMMITS, {
      kind: "Acknowledged",
      number: batch.number,
      first_event_id: committed.first_event_id,
      last_seq: this.#store.latestSeq,
      took_us: tookUs,
    } satisfies BatchOutcome);
  }

  #look(out: Outbox): void {
    const nowUs = this.#nowUs();
    out.setTimer("look", nowUs + LOOK_US, { kind: "Look" });
    if (this.#underWay !== null) {
      const { startUs } = this.#underWay;
      if (nowUs - startUs >= HANGING_US_MIN) this.#condition.isSilent(startUs, "the store does not answer a commit", out);
    } else if (this.#reconnecting !== null) this.#condition.isSilent(nowUs, "the database does not accept a connection", out);
    else if (this.#checkFiles(out)) this.#reconnect();
  }

  /** False when the store takes no changes. */
  #checkFiles(out: Outbox): boolean {
    if (this.#readOnly) return false;
    const problem = this.#files?.problem() ?? null;
    if (problem === null) return true;
    this.#files?.note(problem);
    // As if the batch in flight had failed.
    this.#refuse({ error: problem, disk_full: false }, out);
    this.#probeLater(out);
    return false;
  }

  /** Connects an idle store again whose connection was lost: until then another server would find the store free. */
  #reconnect(): void {
    const attempt = this.#store.reconnect?.() ?? null;
    if (attempt === null) return;
    this.#reconnecting = attempt;
    this.#condition.isLost();
    attempt.then((outcome) => this.#ports.done({ kind: "Reconnected", attempt, outcome }));
  }

  #endReconnect({ attempt, outcome }: Reconnected, out: Outbox): void {
    // The answer to writers that have ended.
    if (attempt !== this.#reconnecting) return;
    this.#reconnecting = null;
    // The commit that has waited connects too, so its outcome says the same.
    if (this.#underWay !== null) return this.#attempt(out);
    if (outcome.kind === "connected") this.#condition.answers(out);
    else if (outcome.kind === "fenced") this.#refuse({ error: TAKEN_OVER, disk_full: false }, out);
    else this.#condition.isSilent(this.#nowUs(), outcome.error, out);
  }

  #refuse({ error, disk_full }: { error: string; disk_full: boolean }, out: Outbox): void {
    this.#readOnly = true;
    this.#refusals += 1;
    this.#condition.refuses(error, disk_full, out);
    const standing = { number: this.#store.number, refusals: this.#refusals };
    out.send(COMMITS, { kind: "Rejected", ...standing, error, disk_full } satisfies BatchOutcome);
  }

  #probeLater(out: Outbox): void {
    out.setTimer("probe", this.#nowUs() + PROBE_US, { kind: "Probe" });
  }

  #probe(out: Outbox): void {
    // A probe also succeeds in a deleted file, so check the files first.
    const problem = this.#files?.problem() ?? null;
    if (problem !== null) return this.#probeLater(out);
    const probe = this.#store.probe();
    if (!(probe instanceof Promise)) return this.#decideProbe(probe, out);
    this.#probeUnderWay = probe;
    const done = (takesWrites: boolean): void => this.#ports.done({ kind: "Probed", probe, takesWrites });
    probe.then(done, () => done(false));
  }

  #endProbe({ probe, takesWrites }: Probed, out: Outbox): void {
    // The answer to writers that have ended.
    if (probe !== this.#probeUnderWay) return;
    this.#probeUnderWay = null;
    this.#decideProbe(takesWrites, out);
  }

  #decideProbe(takesWrites: boolean, out: Outbox): void {
    if (!takesWrites) return this.#probeLater(out);
    this.#readOnly = false;
    this.#files?.clear();
    this.#condition.answers(out);
    out.send(COMMITS, { kind: "Writable" });
  }

  #reportGeneration({ generation, source }: ReportGeneration, out: Outbox): void {
    const { number, latestSeq: last_seq } = this.#store;
    const standing = { number, last_seq, refusals: this.#refusals, read_only: this.#readOnly };
    out.send(COMMITS, { kind: "WriterStarted", source, generation, ...standing } satisfies WriterStarted);
  }
}
