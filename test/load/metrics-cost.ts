/**
 * What a scrape of GET /metrics costs beside a large store: the time to the whole answer, and the size of the answer.
 *
 *   node --conditions=millrace-src test/load/metrics-cost.ts [RUNS] [SCRAPES]
 *
 * The compiled server (npm run build) keeps RUNS ended runs in a store of its own. Scrapes follow one after the other.
 */
import { HttpConnection } from "./http-connection.ts";
import { startOwnServer } from "./own-server.ts";
import { Samples } from "./samples.ts";

const [RUNS = "1000000", SCRAPES = "500"] = process.argv.slice(2);
/** The first scrapes load and compile the code. */
const WARM_UP = 20;
const READ_BYTES = 262_144;
const SHARES_SHOWN = [0.5, 0.99, 1];

const target = await startOwnServer(
  { home: null, durability: "normal", token: null, compiled: true },
  { runs: Number(RUNS), seed: 1 },
);
try {
  const connection = new HttpConnection(target.endpoint, READ_BYTES);
  const samples = new Samples();
  let bytes = 0;
  for (let scrape = 0; scrape < Number(SCRAPES) + WARM_UP; scrape += 1) {
    const begin = performance.now();
    const { status, body } = await connection.get("/metrics");
    if (status !== 200) throw new Error(`/metrics answered ${status}: ${body.slice(0, 200)}`);
    bytes = body.length;
    if (scrape >= WARM_UP) samples.add(performance.now() - begin);
  }
  connection.close();
  const [median = 0, p99 = 0, slowest = 0] = samples.quantiles(SHARES_SHOWN).map((ms) => ms ?? 0);
  console.log(
    `${RUNS} runs stored: ${SCRAPES} scrapes of ${(bytes / 1024).toFixed(0)} kB: p50 ${median.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, slowest ${slowest.toFixed(2)} ms`,
  );
} finally {
  await target.stop();
}
