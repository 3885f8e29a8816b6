/**
 * The store that the writers get in a simulation: the real one, whose outcomes faults change. A commit may take a while, and its
 * outcome may be unknown, whether it is stored or not. A late commit of writers that have ended still reaches the store.
 */
import type { CommitOutcome, CommitRequest, CommitResult, Owner, WritableStore } from "#storage/port";
import { SqliteStore } from "#storage/write/sqlite-store";
import { Writer, type WriterOptions } from "#storage/write/writer";
import { type CommitFault, SIMULATED } from "./fault-plan.ts";
import type { Mutation } from "./mutation-tools.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";

export interface StoreSurroundings {
  disk: SimulatedDisk;
  mutation: Mutation | null;
  /** Calls back after a while. */
  after(then: () => void): void;
  /** The fault of this commit. */
  takeFault(): CommitFault | null;
  /** True for a commit that the store can't make, which is a defect. */
  hasDefect(request: CommitRequest): boolean;
  /** A commit was stored by this owner. */
  committed(request: CommitRequest, result: CommitResult, owner: Owner): void;
}

export class SimulatedStore implements WritableStore {
  readonly #around: StoreSurroundings;
  readonly #inner: SqliteStore;
  /** Whether the newest commit has no known outcome. */
  isCommitOpen = false;
  #isAgain = false;

  constructor(around: StoreSurroundings, options: WriterOptions) {
    this.#around = around;
    this.#inner = new SqliteStore(new Writer(around.disk.handle, options), () => undefined);
  }

  get owner(): Owner {
    return this.#inner.owner;
  }

  get number(): number {
    return this.#inner.number;
  }

  get latestSeq(): number {
    return this.#inner.latestSeq;
  }

  get nextLogId(): number {
    return this.#inner.nextLogId;
  }

  get decidedCommands(): readonly number[] {
    return this.#inner.decidedCommands;
  }

  commit(request: CommitRequest): CommitOutcome | Promise<CommitOutcome> {
    const { mutation, after, takeFault, hasDefect } = this.#around;
    const isStored = request.batch.number <= this.#inner.number;
    if (!isStored && hasDefect(request)) throw new Error(SIMULATED);
    const sent = this.#isAgain ? (mutation?.commitsAgain?.(request) ?? request) : request;
    const fault = takeFault();
    this.isCommitOpen = fault !== null;
    this.#isAgain = fault !== null;
    if (fault === null) return this.#store(sent);
    if (fault === "commit takes a while") return new Promise((resolve) => after(() => resolve(this.#storeLate(sent))));
    if (fault === "commit is unknown, and stored") this.#store(sent);
    const outcome: CommitOutcome = { kind: "unknown", error: "simulated: the connection was lost" };
    return mutation?.outcome?.(outcome, request) ?? outcome;
  }

  probe(): boolean {
    return this.#inner.probe();
  }

  close(): void {
    // The handle belongs to the disk.
  }

  #storeLate(request: CommitRequest): CommitOutcome {
    this.isCommitOpen = false;
    this.#isAgain = false;
    return this.#store(request);
  }

  #store(request: CommitRequest): CommitOutcome {
    const outcome = this.#inner.commit(request);
    if (outcome.kind === "applied") this.#around.committed(request, outcome.result, this.owner);
    return outcome;
  }
}
