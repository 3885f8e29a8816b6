/** Flows that a script calls, and that a server also serves. */
import { emit, flow, log, Type, task } from "millrace";

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
