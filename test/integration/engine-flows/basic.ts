import { Abort, artifact, flow, log, progress, run, Type, task } from "millrace";

const add = task("add", async (a: number, b: number) => a + b);
const wrap = task("wrap", async (value: number) => ({ value }));
const unwrap = task("unwrap", async (box: { value: number }) => box.value);

export const bare = flow("bare", () => undefined);

export const sums = flow("sums", { parameters: Type.Object({ upTo: Type.Integer({ default: 2 }) }) }, async ({ upTo }) => {
  log.info("summing up to %d for", upTo, { run: run.name });
  console.warn("printed");
  const boxed = await wrap(add(1, upTo));
  progress(50, "half");
  const value = await unwrap(boxed);
  await Promise.all([1, 2, 3].map((n) => add(n, value)));
  artifact.table("sums", [{ value }], { key: "sums" });
  return { value };
});

let failures = 0;

export const flaky = flow("flaky", { retries: 2, retryDelay: 0.01 }, async () => {
  failures += 1;
  if (failures % 3 !== 0) throw new RangeError(`failure ${failures}`);
  return failures;
});

export const aborting = flow("aborting", { retries: 2 }, async () => {
  await task("give-up", { retries: 3 }, async () => {
    throw new Abort("no use");
  })();
});

export const hooked = flow(
  "hooked",
  {
    hooks: {
      onCompletion: ({ run }) => log.info(`completed: ${run.name}`),
      onCrash: ({ run }) => log.info(`crash hook of ${run.name}`),
    },
  },
  () => undefined,
);

export const chatty = flow("chatty", async () => {
  for (let line = 0; line < 12_000; line += 1) log.info(`line ${line}`);
});
