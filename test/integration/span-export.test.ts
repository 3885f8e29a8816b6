/** The exporter of spans and a collector: what it takes, refuses and rejects is counted, and said once. */
import t, { type Test } from "tap";
import { rejectionOf } from "#sdk/tracing/export-response";
import type { Span } from "#sdk/tracing/span";
import { SpanExport } from "#sdk/tracing/span-export";
import { OtlpReceiver } from "../support/otlp-receiver.ts";

function spanOf(number: number): Span {
  return {
    name: `span ${number}`,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: number.toString(16).padStart(16, "0"),
    parentId: null,
    parentIsRemote: false,
    kind: "internal",
    fromUs: 1_764_300_000_000_000 + number,
    toUs: 1_764_300_000_000_000 + number,
    run: { "millrace.run.id": 1 },
    attributes: {},
    events: [],
    links: [],
    error: null,
  };
}

/** Exports spans to a collector in this mode, and returns what became of them. */
async function exported(t: Test, spans: number, mode: OtlpReceiver["mode"]) {
  const receiver = await OtlpReceiver.start();
  t.teardown(() => receiver.close());
  receiver.mode = mode;
  const said: string[] = [];
  const sink = new SpanExport({ endpoint: `${receiver.url}/`, engineId: "engine-1", complain: (text) => said.push(text) });
  for (let number = 1; number <= spans; number++) sink.end(spanOf(number));
  await sink.close();
  return { receiver, said: said.map((text) => text.replace(receiver.url, "URL")), counts: sink.counts };
}

t.test("a collector takes spans in batches of 512, in their order", async (t) => {
  const { receiver, counts, said } = await exported(t, 1_300, "take");
  t.same(
    receiver.spans.map(({ name }) => name),
    Array.from({ length: 1_300 }, (_, index) => `span ${index + 1}`),
  );
  t.equal(receiver.requests, 3);
  t.same(receiver.spans[0]?.resource, { "service.name": "millrace", "service.instance.id": "engine-1" });
  t.same(counts, { exported: 1_300, dropped: 0 });
  t.same(said, []);
});

t.test("spans that wait are sent within some seconds, without further ones", async (t) => {
  const receiver = await OtlpReceiver.start();
  t.teardown(() => receiver.close());
  const sink = new SpanExport({ endpoint: receiver.url, engineId: "engine-1", complain: t.fail });
  // The timer of the exporter holds up no process.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  sink.end(spanOf(1));
  const [name] = await receiver.until((spans) => (spans.length > 0 ? spans.map(({ name }) => name) : undefined));
  t.equal(name, "span 1");
});

t.test("what a collector refuses or rejects is dropped", async (t) => {
  const refused = await exported(t, 5, "refuse");
  t.same(refused.counts, { exported: 0, dropped: 5 });
  t.same(refused.said, ["5 spans for the collector URL/ were dropped: Bad Request"]);
  const rejected = await exported(t, 5, "reject");
  t.same(rejected.counts, { exported: 2, dropped: 3 });
  t.same(rejected.said, ["3 spans for the collector URL/ were dropped: too large"]);
});

t.test("the end of an engine waits two seconds for a collector that hangs", async (t) => {
  const { counts } = await exported(t, 5_000, "hang");
  t.same(counts, { exported: 0, dropped: 5_000 });
});

t.test("answers that reject nothing, or are something else", async (t) => {
  for (const answer of ["", "{}", "<html>", "\x0a\x00", "\x0a\x02\x08\x00", "\x0a\xff", "\xff\xff\xff\xff\xff"])
    t.equal(rejectionOf(Buffer.from(answer, "latin1")), null, JSON.stringify(answer));
  t.same(rejectionOf(Buffer.from("\x0a\x03\x08\xac\x02", "latin1")), { spans: 300, message: "" });
});
