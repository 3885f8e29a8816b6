/** A thread lowers its own priority and leaves that of the process as it is. */
import { once } from "node:events";
import { getPriority } from "node:os";
import { Worker } from "node:worker_threads";
import t from "tap";

const MODULE = new URL("../../../server/threads/thread-priority.ts", import.meta.url).href;

/** Nice values of a thread, before and after each of two changes. */
const CODE = `
  import { readlinkSync } from "node:fs";
  import { basename } from "node:path";
  import { getPriority } from "node:os";
  import { parentPort } from "node:worker_threads";
  import { lowerThreadPriority } from "${MODULE}";
  const nice = () => getPriority(Number(basename(readlinkSync("/proc/thread-self"))));
  const found = [nice()];
  for (const add of [5, 100]) {
    lowerThreadPriority(add);
    found.push(nice());
  }
  parentPort.postMessage(found);
`;

t.test(
  "a thread adds to its own nice value",
  { skip: process.platform === "linux" ? false : "one priority per process" },
  async (t) => {
    const before = getPriority(process.pid);
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(CODE)}`));
    const [found] = (await once(worker, "message")) as [number[]];
    t.strictSame(found, [before, Math.min(19, before + 5), 19], "up to the lowest priority");
    t.equal(getPriority(process.pid), before, "the main thread's stays");
  },
);
