/** Bytes for PostgreSQL, which grow as values are added. Numbers are big-endian. */
const BYTES_AT_FIRST = 16_384;
const HIGH = 2 ** 32;
/** Shorter texts are copied character by character, which costs less than a call of the encoder. */
const SHORT_TEXT_MAX = 32;
const ASCII_MAX = 127;

export class MessageBuffer {
  #bytes: Buffer;
  #view: DataView;
  #end = 0;

  constructor(bytes = BYTES_AT_FIRST) {
    this.#bytes = Buffer.allocUnsafe(bytes);
    this.#view = viewOf(this.#bytes);
  }

  get end(): number {
    return this.#end;
  }

  byte(value: number): void {
    const at = this.#reserve(1);
    this.#view.setUint8(at, value);
  }

  int16(value: number): void {
    const at = this.#reserve(2);
    this.#view.setInt16(at, value);
  }

  int32(value: number): void {
    const at = this.#reserve(4);
    this.#view.setInt32(at, value);
  }

  /** An integer of 53 bits at most. */
  int64(value: number): void {
    const at = this.#reserve(8);
    this.#view.setInt32(at, Math.floor(value / HIGH));
    this.#view.setUint32(at + 4, value >>> 0);
  }

  float64(value: number): void {
    const at = this.#reserve(8);
    this.#view.setFloat64(at, value);
  }

  text(value: string): void {
    // A UTF-16 unit becomes three bytes of UTF-8 at most.
    const at = this.#reserve(value.length * 3);
    this.#end = at + (value.length <= SHORT_TEXT_MAX && this.#putAscii(value, at) ? value.length : this.#bytes.write(value, at));
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
    this.#view.setInt32(at, value);
  }

  /** What has been written. Nothing more may be added. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** Whether the text is ASCII throughout, and therefore written. */
  #putAscii(value: string, at: number): boolean {
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > ASCII_MAX) return false;
      this.#bytes[at + index] = code;
    }
    return true;
  }

  /** Makes room for so many bytes; returns where they begin. */
  #reserve(count: number): number {
    const at = this.#end;
    this.#end += count;
    if (this.#end > this.#bytes.length) this.#grow(at);
    return at;
  }

  #grow(used: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.#end, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, used);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
