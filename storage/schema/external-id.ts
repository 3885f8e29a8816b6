/** External ids that are derived instead of stored. */
import { bytesToUuid } from "#protocol/values/uuid";

/** One round of a 32-bit mixer (murmur3's finaliser): every bit of the input reaches every bit of the output. */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * The external id of an event: a UUIDv7 of the event's time, with the other bits derived from the store's salt and the
 * event's id. So the id takes no space in the store and is the same at every read.
 */
export function eventUuid(salt: number, id: number, occurredUs: number): string {
  const low = id >>> 0;
  const high = Math.floor(id / 0x1_0000_0000) >>> 0;
  const a = mix(mix(salt ^ low) ^ high);
  const b = mix(a ^ low ^ 0x9e3779b9);
  const c = mix(b ^ salt ^ 0x7f4a7c15);
  const bytes = Buffer.allocUnsafe(16);
  const millis = Math.min(0xffff_ffff_ffff, Math.max(0, Math.floor(occurredUs / 1000)));
  bytes.writeUIntBE(millis, 0, 6);
  bytes.writeUInt16BE(0x7000 | (a & 0x0fff), 6);
  bytes.writeUInt32BE(0x8000_0000 + (b & 0x3fff_ffff), 8);
  bytes.writeUInt32BE(c, 12);
  return bytesToUuid(bytes);
}
