/**
 * What a collector says of the spans of a request that it took: ExportTraceServiceResponse of
 * opentelemetry/proto/collector/trace/v1/trace_service.proto, whose partial_success counts the spans that it rejected.
 */

export interface Rejection {
  spans: number;
  /** May be empty. */
  message: string;
}

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH = 2;
const FIXED_32 = 5;

/** Null where all spans were taken, and for what is no such response: the status of the answer says that the request was taken. */
export function rejectionOf(response: Buffer): Rejection | null {
  const partial = fieldsOf(response).get(1);
  if (!Buffer.isBuffer(partial)) return null;
  const fields = fieldsOf(partial);
  const [spans, message] = [fields.get(1), fields.get(2)];
  if (typeof spans !== "number" || spans === 0) return null;
  return { spans, message: Buffer.isBuffer(message) ? message.toString() : "" };
}

/** The fields of a message by their numbers, up to the first that cannot be read. */
function fieldsOf(bytes: Buffer): Map<number, number | Buffer> {
  const fields = new Map<number, number | Buffer>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; at < bytes.length; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    return Number.NaN;
  };
  while (at < bytes.length) {
    const tag = varint();
    const [field, wireType] = [Math.floor(tag / 8), tag % 8];
    if (wireType === VARINT) fields.set(field, varint());
    else if (wireType === LENGTH) {
      const length = varint();
      if (!(at + length <= bytes.length)) break;
      fields.set(field, bytes.subarray(at, at + length));
      at += length;
    } else if (wireType === FIXED_64) at += 8;
    else if (wireType === FIXED_32) at += 4;
    else break;
  }
  return fields;
}
