/** Process of a BullMQ worker that executes empty jobs. Arguments: folder of the library, port of Redis, queue, concurrency. */
import { loadBull } from "./bull-library.ts";
import { type Expect, epochMs, type WorkerMessage } from "./bull-messages.ts";

const COUNT_EVERY_MS = 100;

const [folder = "", port = "", queue = "", concurrency = ""] = process.argv.slice(2);
const tell = (message: WorkerMessage) => process.send?.(message);
let ended = 0;
let expected = 0;
let waitedMs: number[] = [];
let tookMs: number[] = [];

const { Worker } = loadBull(folder);
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
const worker = new Worker(queue, async () => undefined, { connection, concurrency: Number(concurrency) });
worker.on("completed", ({ timestamp, processedOn = timestamp, finishedOn = processedOn }) => {
  ended += 1;
  waitedMs.push(processedOn - timestamp);
  tookMs.push(finishedOn - processedOn);
  if (ended === expected) tellEnd();
});
worker.on("failed", (_job, error) => tell({ kind: "failed", error: error.message }));
worker.on("error", (error) => tell({ kind: "failed", error: error.message }));
process.on("message", (message: Expect) => {
  expected = message.ended;
  if (ended >= expected) tellEnd();
});
process.on("disconnect", () => process.exit(0));
setInterval(() => tell({ kind: "count", ended }), COUNT_EVERY_MS);
await worker.waitUntilReady();
tell({ kind: "ready" });

function tellEnd(): void {
  tell({ kind: "ended", ended, atMs: epochMs(), waitedMs, tookMs });
  waitedMs = [];
  tookMs = [];
}
