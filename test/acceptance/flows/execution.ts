/** The flows of a user, for the acceptance of execution: they wait, compute, use their scope, and end their engine. */
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, emit, flow, log, run, Type, task } from "millrace";

const Url = Type.Object({ url: Type.String() });

async function ask(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(600_000) });
  return await answer.json();
}

/** Waits for an answer. */
export const waits = flow("waits", { parameters: Url }, async ({ url }) => await ask(url));

const Beats = Type.Object({ count: Type.Integer(), ms: Type.Integer() });

/** Wakes up again and again; the result is how late, in ms. */
export const beats = flow("beats", { parameters: Beats }, async ({ count, ms }) => {
  const late: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const dueMs = performance.now() + ms;
    await sleep(ms);
    late.push(Math.max(0, performance.now() - dueMs));
  }
  return late;
});

function compute(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

const Ms = Type.Object({ ms: Type.Integer() });

/** Computes without a pause. */
export const computes = flow("computes", { parameters: Ms }, async ({ ms }) => {
  const fromMs = performance.timeOrigin + performance.now();
  compute(ms);
  return { pid: process.pid, fromMs, toMs: performance.timeOrigin + performance.now() };
});

const step = task("step", async (mark: string, n: number) => {
  process.stdout.write(`${mark} `);
  await sleep(n % 3);
  process.stdout.write(`step ${n}\n`);
  console.log(`${mark} console ${n}`);
  return `${mark} ${n}`;
});

/** Uses everything that belongs to a run, and says its mark each time; marks that end with "c" wait for their cancel. */
export const mixed = flow("mixed", { parameters: Type.Object({ mark: Type.String() }) }, async ({ mark }) => {
  run.signal.addEventListener("abort", () => log.info(`${mark} aborted`));
  for (let n = 0; n < 3; n += 1) {
    log.info(`${mark} log ${n}`);
    await Promise.all([step(mark, n), step(mark, n)]);
    void artifact.markdown(mark, `${mark} ${n}`, { key: mark });
    emit(`custom.${mark}`, { mark });
    await sleep(1);
  }
  console.log(`${mark} waits`);
  while (mark.endsWith("c") && !run.signal.aborted) await sleep(20);
  return { mark };
});

const Fault = Type.Object({ url: Type.String() });

/** True for the first run that asks, so that its rerun ends well. */
async function isFirst(url: string): Promise<boolean> {
  return (await ask(url)) === true;
}

export const exits = flow("exits", { parameters: Fault }, async ({ url }) => {
  if (await isFirst(url)) process.exit(3);
});

export const rejects = flow("rejects", { parameters: Fault }, async ({ url }) => {
  if (!(await isFirst(url))) return;
  void Promise.reject(new Error("lost"));
  await sleep(60_000);
});

export const loops = flow("loops", { parameters: Fault }, async ({ url }) => {
  if (await isFirst(url)) for (;;);
});

export const limited = flow("limited", { parameters: Fault, timeout: "1s" }, async ({ url }) => {
  if (await isFirst(url)) for (;;);
});

async function exhaust(): Promise<never> {
  const kept: number[][] = [];
  for (;;) {
    kept.push(new Array<number>(100_000).fill(1.5));
    if (kept.length % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

export const exhausts = flow("exhausts", { parameters: Fault }, async ({ url }) => {
  if (await isFirst(url)) await exhaust();
});

export const alwaysExhausts = flow("always-exhausts", { crashRetries: 2 }, async () => await exhaust());

/** Never run twice: it counts how often it began. */
export const once = flow(
  "once",
  { parameters: Type.Object({ count: Type.String(), url: Type.String() }), crashRetries: 0 },
  async (p) => {
    await ask(p.count);
    return await ask(p.url);
  },
);
