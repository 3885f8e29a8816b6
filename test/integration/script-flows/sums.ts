/** Flows that a script calls, and that a server also serves. */
import { callback, child, childMap, emit, flow, log, sleep, step, Type, task } from "millrace";

const add = task("add", async (a: number, b: number) => a + b);

export const sums = flow("sums", { parameters: Type.Object({ n: Type.Integer() }) }, async ({ n }) => {
  console.log("printed", n);
  process.stdout.write("written without console\n");
  log.info("logged");
  const sum = await add(n, 1);
  await emit("sums.added", { sum });
  if (n < 0) throw new RangeError("negative");
  return { sum };
});

export const endless = flow("endless", { timeout: "1s" }, async () => {
  await new Promise((resolve) => setTimeout(resolve, 3_600_000).unref());
});

export const waits = flow("waits", async () => {
  log.info("waiting");
  await new Promise((resolve) => setTimeout(resolve, 3_600_000).unref());
});

export const naps = flow("naps", { durable: true, parameters: Type.Object({ n: Type.Integer() }) }, async ({ n }) => {
  const now = await step("now", () => Date.now());
  await sleep(0.3);
  console.log(`nap ${n}`);
  return n + (now > 0 ? 1 : 0);
});

export const family = flow("family", { durable: true }, async () => {
  const one = await child(naps, { n: 1 }).run();
  return [one, ...(await childMap(naps, [{ n: 2 }, { n: 3 }]))];
});

export const called = flow("called", { durable: true }, async () => {
  return await callback().catch((error: Error) => error.message);
});
