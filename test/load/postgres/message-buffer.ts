/** Bytes for PostgreSQL, which grow as values are added. Numbers are big-endian. */
const BYTES_AT_FIRST = 16_384;
const HIGH = 2 ** 32;

export class MessageBuffer {
  #bytes: Buffer;
  #end = 0;

  constructor(bytes = BYTES_AT_FIRST) {
    this.#bytes = Buffer.allocUnsafe(bytes);
  }

  get end(): number {
    return this.#end;
  }

  byte(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  int16(value: number): void {
    const at = this.#reserve(2);
    this.#bytes.writeInt16BE(value, at);
  }

  int32(value: number): void {
    const at = this.#reserve(4);
    this.#bytes.writeInt32BE(value, at);
  }

  /** An integer of 53 bits at most. */
  int64(value: number): void {
    const at = this.#reserve(8);
    this.#bytes.writeInt32BE(Math.floor(value / HIGH), at);
    this.#bytes.writeUInt32BE(value >>> 0, at + 4);
  }

  float64(value: number): void {
    const at = this.#reserve(8);
    this.#bytes.writeDoubleBE(value, at);
  }

  text(value: string): void {
    // A UTF-16 unit becomes three bytes of UTF-8 at most.
    const at = this.#reserve(value.length * 3);
    this.#end = at + this.#bytes.write(value, at);
  }

  /** Text without NUL characters, and a NUL. */
  name(value: string): void {
    this.text(value);
    this.byte(0);
  }

  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.byteLength);
    this.#bytes.set(value, at);
  }

  /** Writes a number over one that was written before. */
  setInt32(value: number, at: number): void {
    this.#bytes.writeInt32BE(value, at);
  }

  /** What has been written. Nothing more may be added. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** Makes room for so many bytes; returns where they begin. */
  #reserve(count: number): number {
    const at = this.#end;
    this.#end += count;
    if (this.#end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#end, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}
