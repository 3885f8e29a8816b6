/** Spans encoded by our code and by the serializer of OpenTelemetry are the same messages. */
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import fc from "fast-check";
import t from "tap";
import type { Span, SpanAttributes, SpanEvent, SpanRef } from "#sdk/tracing/span";
import { SpanBatch } from "#sdk/tracing/span-encoding";
import { type Message, parse } from "../support/otlp-receiver.ts";

type Spans = NonNullable<Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0]>;
type ReadableSpan = Spans[number];

/** Fields of a message that are messages themselves. */
interface Nested {
  readonly [field: number]: Nested;
}

const KEY_VALUE: Nested = { 2: {} };
const SPAN: Nested = { 9: KEY_VALUE, 11: { 3: KEY_VALUE }, 13: {}, 15: {} };
const REQUEST: Nested = { 1: { 1: { 1: KEY_VALUE }, 2: { 1: {}, 2: SPAN } } };

/** What a message says: a number 0 and a message without fields are the same as their absence. */
function content(message: Message, nested: Nested): unknown[] {
  return [...message]
    .map(([field, values]) => {
      const inner = nested[field];
      const said = values
        .map((value) => {
          if (typeof value === "bigint") return value === 0n ? null : `${value}`;
          if (inner === undefined) return value.toString("hex");
          const parts = content(parse(value), inner);
          return parts.length === 0 ? null : parts;
        })
        .filter((value) => value !== null);
      return [field, said];
    })
    .filter(([, said]) => (said as unknown[]).length > 0)
    .sort(([one], [other]) => (one as number) - (other as number));
}

const hrTime = (us: number): [number, number] => [Math.floor(us / 1_000_000), (us % 1_000_000) * 1_000];
const contextOf = ({ traceId, spanId }: SpanRef) => ({ traceId, spanId, traceFlags: 1 });

/** The span as the SDK of OpenTelemetry holds it. */
function readable(span: Span, resource: ReadableSpan["resource"], scope: ReadableSpan["instrumentationScope"]): ReadableSpan {
  const { name, parentId, attributes, events, links, error, fromUs, toUs } = span;
  return {
    name,
    kind: span.kind === "consumer" ? 4 : 0,
    spanContext: () => contextOf(span),
    ...(parentId !== null && {
      parentSpanContext: { traceId: span.traceId, spanId: parentId, traceFlags: 1, isRemote: span.parentIsRemote },
    }),
    startTime: hrTime(fromUs),
    endTime: hrTime(toUs),
    duration: [0, 0],
    status: error === null ? { code: 0 } : { code: 2, message: error },
    attributes: { ...span.run, ...attributes },
    events: events.map((event) => ({ name: event.name, time: hrTime(event.atUs), attributes: event.attributes ?? {} })),
    links: links.map((ref) => ({ context: contextOf(ref) })),
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const digits = (count: number) =>
  fc.array(fc.constantFrom(..."0123456789abcdef"), { minLength: count, maxLength: count }).map((all) => all.join(""));
/** Also texts whose length takes two and three bytes, and halves of surrogate pairs. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constant("lone \ud83d surrogate"),
  fc.constantFrom("x".repeat(127), "x".repeat(128), "ü".repeat(64), "x".repeat(16_384)),
);
const whole = fc.oneof(fc.nat(300), fc.maxSafeNat());
/** Until the year 2255. */
const time = fc.integer({ min: 0, max: 2 ** 53 - 1 });
const attributes = (prefix: string): fc.Arbitrary<SpanAttributes> =>
  fc
    .array(fc.tuple(text, fc.oneof(text, whole)), { maxLength: 5 })
    .map((pairs) => Object.fromEntries(pairs.map(([key, value]) => [prefix + key, value])));
const ref: fc.Arbitrary<SpanRef> = fc.record({ traceId: digits(32), spanId: digits(16) });
const event: fc.Arbitrary<SpanEvent> = fc.record(
  { name: text, atUs: time, attributes: attributes("") },
  { requiredKeys: ["name", "atUs"] },
);
const span: fc.Arbitrary<Span> = fc.record({
  name: text,
  traceId: digits(32),
  spanId: digits(16),
  parentId: fc.option(digits(16)),
  parentIsRemote: fc.boolean(),
  kind: fc.constantFrom("internal", "consumer"),
  fromUs: time,
  toUs: time,
  run: attributes("run."),
  attributes: attributes("own."),
  events: fc.array(event, { maxLength: 3 }),
  links: fc.array(ref, { maxLength: 3 }),
  error: fc.option(text),
});

t.test("a request is the message that OpenTelemetry's own serializer writes", async (t) => {
  fc.assert(
    fc.property(attributes(""), fc.array(span, { minLength: 1, maxLength: 4 }), (facts, spans) => {
      // Without a parent there is nothing to be remote.
      const given = spans.map((each) => ({ ...each, parentIsRemote: each.parentIsRemote && each.parentId !== null }));
      const resource = { attributes: facts } as unknown as ReadableSpan["resource"];
      const scope = { name: "millrace" };
      const theirs = ProtobufTraceSerializer.serializeRequest(given.map((each) => readable(each, resource, scope)));
      const batch = new SpanBatch();
      for (const each of given) batch.add(each);
      const ours = batch.request(facts);
      const [said, expected] = [ours, Buffer.from(theirs as Uint8Array)].map((body) => content(parse(body), REQUEST));
      return JSON.stringify(said) === JSON.stringify(expected) && ours.length <= (theirs as Uint8Array).length;
    }),
    { numRuns: 500 },
  );
  t.pass("500 requests");
});
