/**
 * The checkpointer: copies the WAL into the database file beside the store writer, so that no commit waits for the copy.
 *
 * Messages in: the store writer's request after enough commits. Message out: the copy is done. It crashes like any actor: if
 * the WAL is not copied in time, a commit copies it (the limit in pragmas.ts).
 */
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { STORE_WRITER } from "../names.ts";

/** Request and response. */
export interface Checkpoint {
  kind: "Checkpoint";
}
export interface Checkpointed {
  kind: "Checkpointed";
  /** False when pages seem to be missing in the store's file. */
  copied: boolean;
}

export class Checkpointer implements Actor<Checkpoint> {
  readonly #copy: () => boolean;
  readonly #close: () => void;

  /** `copy` copies as much of the WAL as possible without blocking; false when the file lacks pages. */
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
