import { createServer } from "node:net";
import t from "tap";
import { ReportWriter } from "../../load/engine-protocol.ts";
import { figure, meanFigures } from "../../load/figure.ts";
import { asciiJson, HttpConnection } from "../../load/http-connection.ts";
import { SeededRandom, uuidV7 } from "../../load/random.ts";
import { type Summarized, summarize } from "../../load/report/summary.ts";
import { joinChunks, parseHead } from "../../load/response-head.ts";
import { median, Samples } from "../../load/samples.ts";
import { field } from "../../load/target.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

t.test("quantiles are values that occurred, by nearest rank", async (t) => {
  const samples = new Samples();
  for (let n = 2_000; n >= 1; n--) samples.add(n);
  t.same(samples.quantiles([0, 0.5, 0.99, 1]), [1, 1_000, 1_980, 2_000]);
  t.same(new Samples().quantiles([0.5]), [null]);
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.equal(median([]), null);
});

t.test("the ratio of two servers has the interval of its mean over the rounds", async (t) => {
  const rounds = (values: readonly number[]): Summarized["records"] =>
    values.flatMap((value, index) =>
      [value, 100].map((runs, target) => ({
        phase: "steady",
        target: ["own", "other"][target] ?? "",
        round: index + 1,
        figures: [{ name: "runs", unit: "runs/s", value: runs }],
        notes: [],
      })),
    );
  const targets = ["own", "other"].map((name) => ({ name, version: "", durability: "", start_ms: null }));
  const report = (values: readonly number[]): Summarized => ({ targets, records: rounds(values) });
  const [line] = summarize(report([90, 100, 110]));
  t.equal(line?.ratio, 1);
  // Mean of the logarithms -0.0034, their deviation 0.1004, t for 2 degrees of freedom 4.303.
  t.match(line?.interval?.low.toFixed(3), "0.777");
  t.match(line?.interval?.high.toFixed(3), "1.279");
  t.equal(summarize(report([90, 110]))[0]?.interval, null, "two rounds are no sample");
});

t.test("the mean of several measurements is that of each figure over those that have it", async (t) => {
  const first = [...figure("runs", "runs/s", 10), ...figure("memory", "MiB", 7)];
  t.same(meanFigures([first, figure("runs", "runs/s", 20)]), [
    { name: "runs", unit: "runs/s", value: 15 },
    { name: "memory", unit: "MiB", value: 7 },
  ]);
});

t.test("heads and chunks are read only when they are complete", async (t) => {
  const text = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
  t.equal(parseHead(Buffer.from(text.slice(0, 40))), null);
  t.same(parseHead(Buffer.from(text)), {
    status: 201,
    bodyStart: text.length - 2,
    length: { kind: "known", bytes: 2 },
    closes: true,
  });
  t.throws(() => parseHead(Buffer.from("SSH-2.0-x\r\n\r\n")));
  const chunks = "3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n";
  t.equal(String(joinChunks(Buffer.from(chunks), 0)), "abcde");
  for (let cut = 0; cut < chunks.length - 2; cut++) t.equal(joinChunks(Buffer.from(chunks.slice(0, cut)), 0), null);
});

t.test("ids are version 7 and the same for the same seed", async (t) => {
  const ids = (seed: number) => {
    const random = new SeededRandom(seed);
    return Array.from({ length: 1_000 }, () => uuidV7(random, 1_800_000_000_000));
  };
  for (const id of ids(1)) t.match(id, UUID_V7);
  t.same(ids(1), ids(1));
  t.equal(new Set([...ids(1), ...ids(2)]).size, 2_000);
});

t.test("a report numbers its events without gaps and is ASCII", async (t) => {
  const report = new ReportWriter("engine-\u00e9", new SeededRandom(1)).work(7, 3, 2, 4);
  const events = field(JSON.parse(report.body), "events");
  t.ok(Array.isArray(events));
  const list: unknown[] = Array.isArray(events) ? events : [];
  t.same(
    list.map((event) => field(event, "seq")),
    [3, 4, 5, 6, 7, 8, 9, 10, 11],
  );
  t.equal(report.nextSeq, 12);
  t.equal(Buffer.byteLength(report.body), report.body.length);
  t.equal(asciiJson("\u00e9\u{1f600}"), '"\\u00e9\\ud83d\\ude00"');
});

t.test("an answer in pieces is joined, and a connection the server closes is opened again", async (t) => {
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    socket.on("data", () => {
      const body = "x".repeat(10_000);
      socket.write(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${body.length}\r\n`);
      socket.write("\r\n");
      socket.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const connection = new HttpConnection({ host: "127.0.0.1", port, token: null });
  for (let n = 1; n <= 3; n++) {
    const answer = await connection.post("/x", "{}", true);
    t.equal(answer.body.length, 10_000);
    t.equal(connections, n);
  }
  connection.close();
  await t.rejects(connection.get("/x"));
});
