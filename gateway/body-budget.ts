/**
 * Memory that the bodies of all requests share, from their first piece to the answer.
 *
 * Deciding takes time that grows with the bytes. So what large bodies hold together while they arrive and wait is bounded far
 * below the memory there is: whatever is accepted is answered soon, and the rest is refused while it has cost little. Small
 * bodies need not wait for that.
 */
import { BODIES_IN_FLIGHT_BYTES_MAX, LARGE_BODIES_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "#protocol/limits";

/** What a reader of a body takes its memory from. */
export interface BodyMemory {
  /** Memory for a piece; `soFar` are the bytes of its body with it. False when it is not there; then nothing was taken. */
  takeBytes(bytes: number, soFar: number): boolean;
  /** Gives back all that was taken for a body. */
  giveBytes(bytes: number): void;
  /** False when a body that is announced with so many bytes would be refused now. */
  hasRoom(announced: number): boolean;
}

export class BodyBudget implements BodyMemory {
  /** For bodies that the server decides on. */
  readonly decided: BodyMemory = new DecidedBodies(this);
  #bytes = 0;

  takeBytes(bytes: number): boolean {
    if (this.#bytes + bytes > BODIES_IN_FLIGHT_BYTES_MAX) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBytes(bytes: number): void {
    this.#bytes -= bytes;
  }

  hasRoom(): boolean {
    return true;
  }
}

class DecidedBodies implements BodyMemory {
  readonly #all: BodyBudget;
  #largeBytes = 0;

  constructor(all: BodyBudget) {
    this.#all = all;
  }

  takeBytes(bytes: number, soFar: number): boolean {
    if (!isLarge(soFar)) return this.#all.takeBytes(bytes);
    const before = soFar - bytes;
    const counted = isLarge(before) ? before : 0;
    // A body may itself be larger than the bound: it is the others that it would have to wait for.
    if (this.#largeBytes - counted > LARGE_BODIES_BYTES_MAX || !this.#all.takeBytes(bytes)) return false;
    this.#largeBytes += soFar - counted;
    return true;
  }

  giveBytes(bytes: number): void {
    if (isLarge(bytes)) this.#largeBytes -= bytes;
    this.#all.giveBytes(bytes);
  }

  hasRoom(announced: number): boolean {
    return !isLarge(announced) || this.#largeBytes <= LARGE_BODIES_BYTES_MAX;
  }
}

function isLarge(bytes: number): boolean {
  return bytes > SMALL_BODY_BYTES_MAX;
}
