/** Bytes of each output that a command returns: its end, where results and errors stand. */
export const RETURNED_BYTES_MAX = 65_536;

/** The end of an output, and the number of all its bytes. */
export class OutputTail {
  bytes = 0;
  #chunks: Buffer[] = [];
  #kept = 0;

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#chunks.push(chunk);
    this.#kept += chunk.length;
    while (this.#kept - (this.#chunks[0]?.length ?? 0) >= RETURNED_BYTES_MAX) this.#kept -= this.#chunks.shift()?.length ?? 0;
  }

  /** The last bytes as text; a character that was cut is left out. */
  get text(): string {
    const all = Buffer.concat(this.#chunks);
    if (all.length <= RETURNED_BYTES_MAX) return all.toString();
    let from = all.length - RETURNED_BYTES_MAX;
    while (from < all.length && ((all[from] ?? 0) & 0b1100_0000) === 0b1000_0000) from += 1;
    return all.toString("utf8", from);
  }
}
