/**
 * Memory budget shared by the bodies of all requests, from the first piece to the response.
 *
 * Deciding takes time that grows with the bytes. The bytes of large bodies, arriving or waiting, are therefore bounded far
 * below the available memory: accepted requests are answered soon, and others are rejected while they have cost little. Small
 * bodies are not subject to that bound.
 */
import { BODIES_IN_FLIGHT_BYTES_MAX, LARGE_BODIES_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "#protocol/limits";

/** The budget from which a body reader takes memory. */
export interface BodyMemory {
  /**
   * Takes memory for a piece; `soFar` is the length of its body including the piece. Returns false, and takes nothing, when
   * the budget is used up.
   */
  takeBytes(bytes: number, soFar: number): boolean;
  /** Returns all memory taken for a body. */
  giveBytes(bytes: number): void;
  /** False when a body announced with this length would be rejected now. */
  hasRoom(announced: number): boolean;
}

export class BodyBudget implements BodyMemory {
  /** For bodies of requests that actors decide. */
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
    // The body itself does not count against the bound, because it may be larger; only the other large bodies do.
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
