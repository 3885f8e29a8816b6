/**
 * The checkpointer: copies the write-ahead log into the database file beside the store writer, so that no commit waits for it.
 *
 * Messages in: the store writer's word that enough was committed. Message out: that the copy is done.
 * It fails like any actor: a log that is not copied in time is copied by a commit (the limit in pragmas.ts).
 */
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { STORE_WRITER } from "../names.ts";

/** Order and answer. */
export interface Checkpoint {
  kind: "Checkpoint";
}
export interface Checkpointed {
  kind: "Checkpointed";
  /** False when pages seem to be missing in the file of the store. */
  copied: boolean;
}

export class Checkpointer implements Actor<Checkpoint> {
  readonly #copy: () => boolean;
  readonly #close: () => void;

  /** `copy` copies the log as far as it goes without holding anybody up; false when the file is not fit for it. */
  constructor(copy: () => boolean, close: () => void) {
    this.#copy = copy;
    this.#close = close;
  }

  receive(_message: Checkpoint, out: Outbox): void {
    const copied = this.#copy();
    out.send(STORE_WRITER, { kind: "Checkpointed", copied } satisfies Checkpointed);
  }

  stop(): void {
    this.#close();
  }
}
