import fc from "fast-check";
import t from "tap";
import { type Frame, readFrames } from "#sdk/client/event-stream";

async function frames(parts: Iterable<Uint8Array>): Promise<Frame[]> {
  async function* body() {
    yield* parts;
  }
  const read: Frame[] = [];
  for await (const frame of readFrames(body())) read.push(frame);
  return read;
}

const bytes = (text: string) => new TextEncoder().encode(text);

t.test("frames carry name, id and data; comments and empty frames give nothing", async (t) => {
  const text =
    ':\n\nevent: hello\ndata: {"latest":3}\n\nid: 4\nevent: run.updated\ndata: {"a":1}\n\n: keep\n\nid: 5\n\ndata: x\ndata: y\n\n';
  t.same(await frames([bytes(text)]), [
    { event: "hello", id: null, data: '{"latest":3}' },
    { event: "run.updated", id: "4", data: '{"a":1}' },
    { event: "message", id: null, data: "x\ny" },
  ]);
});

t.test("a frame without its closing blank line is not given", async (t) => {
  t.same(await frames([bytes("event: a\ndata: 1\n")]), []);
});

t.test("all three line ends are read", async (t) => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const text = ["event: a", "data: 1", "", "data: 2", "", ": last", ""].join(end);
    t.same(
      (await frames([bytes(text)])).map((frame) => frame.data),
      ["1", "2"],
      JSON.stringify(end),
    );
  }
});

t.test("the result does not depend on how the bytes were cut", async (t) => {
  const end = fc.constantFrom("\n", "\r\n");
  const frame = fc.record({
    event: fc.constantFrom("run.updated", "log.appended"),
    id: fc.nat(),
    data: fc.string({ unit: "grapheme" }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 5 }), end, fc.array(fc.nat({ max: 20 })), async (sent, lineEnd, cuts) => {
      const lines = sent.map(({ event, id, data }) =>
        [`id: ${id}`, `event: ${event}`, `data: ${JSON.stringify(data)}`, "", ""].join(lineEnd),
      );
      let rest = bytes(lines.join(""));
      const parts: Uint8Array[] = [];
      for (const cut of cuts) {
        parts.push(rest.subarray(0, cut));
        rest = rest.subarray(cut);
      }
      const read = await frames([...parts, rest]);
      t.same(
        read,
        sent.map(({ event, id, data }) => ({ event, id: String(id), data: JSON.stringify(data) })),
      );
    }),
    { numRuns: 100 },
  );
});
