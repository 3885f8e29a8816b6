/** External ids are UUIDs: as text on the wire, as 16 bytes in the store. */

const UUID_BYTES = 16;
const HEX = Buffer.from("0123456789abcdef");

/** The text is written here and read at once: concatenating pieces would create a tree of strings, ten times as large. */
const written = Buffer.alloc(36, "-");

/** Value of each character code that is a hexadecimal digit. */
const DIGIT = new Uint8Array(128);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGIT[digit.charCodeAt(0)] = value;
  DIGIT[digit.toUpperCase().charCodeAt(0)] = value;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for a hyphenated UUID of any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The 16 bytes of a hyphenated UUID; the text must be a valid UUID. */
export function uuidToBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(UUID_BYTES);
  writeUuid(text, bytes, 0);
  return bytes;
}

/** Writes the 16 bytes of a hyphenated UUID at `from`. */
export function writeUuid(text: string, bytes: Uint8Array, from: number): void {
  let at = 0;
  for (let index = from; index < from + UUID_BYTES; index++) {
    if (at === 8 || at === 13 || at === 18 || at === 23) at++;
    bytes[index] = ((DIGIT[text.charCodeAt(at)] ?? 0) << 4) | (DIGIT[text.charCodeAt(at + 1)] ?? 0);
    at += 2;
  }
}

/** Lower-case hyphenated text of 16 bytes. */
export function bytesToUuid(bytes: Uint8Array): string {
  let at = 0;
  for (let index = 0; index < UUID_BYTES; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) at++;
    const byte = bytes[index] ?? 0;
    written[at++] = HEX[byte >> 4] ?? 0;
    written[at++] = HEX[byte & 15] ?? 0;
  }
  return written.toString("latin1");
}

const HEX_DIGITS = 2 * UUID_BYTES;
/** The bit in which the codes of lower-case letters differ from those of upper-case letters; digits have it too. */
const LOWER_CASE = 0x20;

/** Lower-case hyphenated text of 32 hexadecimal digits. */
export function hexToUuid(digits: string): string {
  let at = 0;
  for (let index = 0; index < HEX_DIGITS; index++) {
    if (index === 8 || index === 12 || index === 16 || index === 20) at++;
    written[at++] = digits.charCodeAt(index) | LOWER_CASE;
  }
  return written.toString("latin1");
}
