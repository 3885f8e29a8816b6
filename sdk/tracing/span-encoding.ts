/**
 * Encodes spans as the protobuf of OTLP: messages of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto, version
 * 1.x. A message is built as a string that has one character for each byte, because V8 joins strings without running code of
 * ours for each byte, which would be slow in an engine's first thousands of runs, before V8 has compiled it.
 */
import type { Span, SpanAttributes, SpanEvent, SpanRef } from "./span.ts";

/** Bytes, each as the character of its value. */
type Bytes = string;

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH = 2;
const FIXED_32 = 5;

const REQUEST = { resourceSpans: tag(1, LENGTH) };
const RESOURCE_SPANS = { resource: tag(1, LENGTH), scopeSpans: tag(2, LENGTH) };
const RESOURCE = { attributes: tag(1, LENGTH) };
const SCOPE_SPANS = { scope: tag(1, LENGTH), spans: tag(2, LENGTH) };
const SCOPE = { name: tag(1, LENGTH) };
const SPAN = {
  traceId: tag(1, LENGTH),
  spanId: tag(2, LENGTH),
  parentSpanId: tag(4, LENGTH),
  name: tag(5, LENGTH),
  kind: tag(6, VARINT),
  startTime: tag(7, FIXED_64),
  endTime: tag(8, FIXED_64),
  attributes: tag(9, LENGTH),
  events: tag(11, LENGTH),
  links: tag(13, LENGTH),
  status: tag(15, LENGTH),
  flags: tag(16, FIXED_32),
};
const EVENT = { time: tag(1, FIXED_64), name: tag(2, LENGTH), attributes: tag(3, LENGTH) };
const LINK = { traceId: tag(1, LENGTH), spanId: tag(2, LENGTH), flags: tag(6, FIXED_32) };
const STATUS = { message: tag(2, LENGTH), code: tag(3, VARINT) };
const KEY_VALUE = { key: tag(1, LENGTH), value: tag(2, LENGTH) };
const ANY_VALUE = { string: tag(1, LENGTH), int: tag(3, VARINT) };

const KINDS = { internal: varint(1), consumer: varint(5) };
const STATUS_ERROR = varint(2);
/** Flags of a span: it is sampled, and whether its parent is in another process is known. */
const PARENT_IS_LOCAL = fixed32(0x1_01);
const PARENT_IS_REMOTE = fixed32(0x3_01);

const SCOPE_NAME = "millrace";
const INITIAL_BYTES = 16_384;

/** Keys of attributes are a few names of ours. */
const encodedKeys = new Map<string, Bytes>();
/** For the bytes of an id. */
const scratch = Buffer.alloc(16);
const encodedRuns = new WeakMap<SpanAttributes, Bytes>();

/** Spans of one request (ExportTraceServiceRequest). */
export class SpanBatch {
  #spans = Buffer.allocUnsafe(INITIAL_BYTES);
  #length = 0;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(span: Span): void {
    const bytes = encodeSpan(span);
    const length = this.#length + bytes.length;
    if (length > this.#spans.length) {
      const spans = Buffer.allocUnsafe(Math.max(length, this.#spans.length * 2));
      this.#spans.copy(spans, 0, 0, this.#length);
      this.#spans = spans;
    }
    // Read as a whole at once: the parts of a joined string live as long as the string.
    this.#spans.write(bytes, this.#length, "latin1");
    this.#length = length;
    this.#count += 1;
  }

  /** @param resource attributes of what made the spans */
  request(resource: SpanAttributes): Buffer {
    const scope = message(SCOPE_SPANS.scope, message(SCOPE.name, SCOPE_NAME));
    const maker = message(RESOURCE_SPANS.resource, attributes(RESOURCE.attributes, resource));
    const list = RESOURCE_SPANS.scopeSpans + varint(scope.length + this.#length) + scope;
    const head = REQUEST.resourceSpans + varint(maker.length + list.length + this.#length) + maker + list;
    return Buffer.concat([Buffer.from(head, "latin1"), this.#spans.subarray(0, this.#length)]);
  }
}

function encodeSpan(span: Span): Bytes {
  const { parentId, error } = span;
  return message(
    SCOPE_SPANS.spans,
    message(SPAN.traceId, hex(span.traceId)) +
      message(SPAN.spanId, hex(span.spanId)) +
      (parentId === null ? "" : message(SPAN.parentSpanId, hex(parentId))) +
      message(SPAN.name, utf8(span.name)) +
      SPAN.kind +
      KINDS[span.kind] +
      SPAN.startTime +
      nanoseconds(span.fromUs) +
      SPAN.endTime +
      nanoseconds(span.toUs) +
      attributesOfRun(span.run) +
      attributes(SPAN.attributes, span.attributes) +
      span.events.map(encodeEvent).join("") +
      span.links.map(encodeLink).join("") +
      (error === null ? "" : message(SPAN.status, failure(error))) +
      SPAN.flags +
      (span.parentIsRemote ? PARENT_IS_REMOTE : PARENT_IS_LOCAL),
  );
}

function failure(error: string): Bytes {
  return (error === "" ? "" : message(STATUS.message, utf8(error))) + STATUS.code + STATUS_ERROR;
}

function attributesOfRun(run: SpanAttributes): Bytes {
  const known = encodedRuns.get(run);
  if (known !== undefined) return known;
  const bytes = attributes(SPAN.attributes, run);
  encodedRuns.set(run, bytes);
  return bytes;
}

function encodeEvent({ name, atUs, attributes: values }: SpanEvent): Bytes {
  const facts = values === undefined ? "" : attributes(EVENT.attributes, values);
  return message(SPAN.events, EVENT.time + nanoseconds(atUs) + message(EVENT.name, utf8(name)) + facts);
}

function encodeLink({ traceId, spanId }: SpanRef): Bytes {
  const ids = message(LINK.traceId, hex(traceId)) + message(LINK.spanId, hex(spanId));
  return message(SPAN.links, ids + LINK.flags + PARENT_IS_LOCAL);
}

function attributes(field: Bytes, values: SpanAttributes): Bytes {
  let bytes = "";
  for (const key in values) bytes += message(field, encodedKey(key) + message(KEY_VALUE.value, anyValue(values[key] ?? "")));
  return bytes;
}

function encodedKey(key: string): Bytes {
  const known = encodedKeys.get(key);
  if (known !== undefined) return known;
  const bytes = message(KEY_VALUE.key, utf8(key));
  encodedKeys.set(key, bytes);
  return bytes;
}

function anyValue(value: string | number): Bytes {
  return typeof value === "string" ? message(ANY_VALUE.string, utf8(value)) : ANY_VALUE.int + varint(value);
}

function message(field: Bytes, content: Bytes): Bytes {
  return field + varint(content.length) + content;
}

function tag(field: number, wireType: number): Bytes {
  return varint(field * 8 + wireType);
}

/** @param value a whole number, not negative */
function varint(value: number): Bytes {
  if (value < 128) return String.fromCharCode(value);
  let bytes = "";
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes += String.fromCharCode((rest % 128) + 128);
  return bytes + String.fromCharCode(rest);
}

function fixed32(value: number): Bytes {
  return String.fromCharCode(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
}

/** Microseconds as nanoseconds of 64 bits. Numbers have 53 bits, so both halves are multiplied alone. */
function nanoseconds(us: number): Bytes {
  const low = (us % 2 ** 32) * 1_000;
  const high = Math.floor(us / 2 ** 32) * 1_000 + Math.floor(low / 2 ** 32);
  return fixed32(low % 2 ** 32) + fixed32(high);
}

function hex(digits: string): Bytes {
  return scratch.toString("latin1", 0, scratch.write(digits, "hex"));
}

function utf8(text: string): Bytes {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString("latin1");
}
