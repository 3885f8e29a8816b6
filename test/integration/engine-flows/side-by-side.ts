/** Flows whose runs share a thread. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, emit, flow, log, run, Type, task } from "millrace";

const Until = Type.Object({ path: Type.String() });

const looks = new Map<string, Promise<void>>();

/** Runs that wait for the same file look for it together, so that the thread is idle. */
async function exists(path: string): Promise<void> {
  const look = looks.get(path) ?? lookFor(path);
  looks.set(path, look);
  await look;
}

async function lookFor(path: string): Promise<void> {
  while (!existsSync(path)) await sleep(20);
}

/** Waits for a file. */
export const until = flow("until", { parameters: Until }, async ({ path }) => {
  log.info("started");
  await exists(path);
  return "went on";
});

/** Holds the thread, except for the moments in which it looks whether the file exists. */
export const computes = flow("computes", { parameters: Until }, async ({ path }) => {
  log.info("started");
  while (!existsSync(path)) {
    const since = performance.now();
    while (performance.now() - since < 50);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

/** Holds the thread until the file exists. */
export const holds = flow("holds", { parameters: Until }, ({ path }) => {
  while (!existsSync(path));
});

/** Leaves its signal unheard, but yields. */
export const deaf = flow("deaf", async () => {
  log.info("started");
  for (;;) {
    await sleep(5);
    log.info("still here");
  }
});

export const spins = flow("spins", () => {
  log.info("started");
  for (;;);
});

export const exits = flow("exits", async () => {
  await sleep(1);
  process.exit(3);
});

export const uncaught = flow("uncaught", async () => {
  setImmediate(() => {
    throw new TypeError("from a callback");
  });
  await new Promise(() => undefined);
});

export const rejects = flow("rejects", async () => {
  await sleep(1);
  void Promise.reject(new Error("lost"));
  await new Promise(() => undefined);
});

export const memory = flow("memory", async () => {
  const kept: number[][] = [];
  for (;;) {
    kept.push(new Array<number>(10_000).fill(1.5));
    if (kept.length % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
});

const step = task("step", async (mark: string, n: number) => {
  process.stdout.write(`${mark} `);
  await sleep(n % 3);
  process.stdout.write(`step ${n}\n`);
  console.log(`${mark} console ${n}`);
  return `${mark} ${n}`;
});

/** Uses everything that belongs to a run, and says its mark each time. */
export const mixed = flow("mixed", { parameters: Type.Object({ mark: Type.String() }) }, async ({ mark }) => {
  run.signal.addEventListener("abort", () => log.info(`${mark} aborted`));
  for (let n = 0; n < 3; n += 1) {
    log.info(`${mark} log ${n}`);
    await Promise.all([step(mark, n), step(mark, n)]);
    void artifact.markdown(mark, `${run.name} ${n}`, { key: mark });
    emit(`custom.${mark}`, { mark });
    await sleep(1);
  }
  while (mark.endsWith("c") && !run.signal.aborted) await sleep(5);
  return { mark, name: run.name };
});

let imported = 0;

export const fresh = flow("fresh", () => {
  imported += 1;
  return imported;
});
