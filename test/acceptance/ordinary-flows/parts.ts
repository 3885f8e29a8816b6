/** Flows that do what their parameters describe: task runs of every kind, one after the other, at once and inside others. */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { artifact, flow, lease, log, Type, task } from "millrace";

interface Keyed {
  /** Unique within all runs of the check. */
  key: string;
}

export type GroupPart = Keyed & ({ kind: "all"; parts: Part[] } | { kind: "each"; parts: Part[] });

/** One part of what a run does. */
export type Part =
  | GroupPart
  | (Keyed &
      (
        | { kind: "work"; ms: number }
        | { kind: "compute"; ms: number }
        | { kind: "flaky"; times: number }
        | { kind: "caught" }
        | { kind: "late" }
        | { kind: "map"; times: number; concurrency: number; failing: number }
        | { kind: "gpu"; ms: number }
        | { kind: "leased"; ms: number }
        | { kind: "cached" }
        | { kind: "lines"; times: number }
        | { kind: "printed"; times: number }
        | { kind: "artifact" }
        | { kind: "nested"; times: number }
      ));

/** What a run is told. */
interface Described {
  /** A file of the run's own. */
  file: string;
  /** A file of all runs, in which they note what they hold. */
  held: string;
  id: string;
  parts: Part[];
}

const Described = Type.Object({
  file: Type.String(),
  held: Type.String(),
  id: Type.String(),
  parts: Type.Array(Type.Unsafe<Part>({})),
});
const OPTIONS = { parameters: Described, crashRetries: 1_000_000 } as const;

const work = task("work", async (key: string, ms: number) => {
  await pause(ms, undefined, { signal: task.signal });
  return key;
});

const compute = task("compute", (key: string, ms: number) => {
  for (const until = performance.now() + ms; performance.now() < until; );
  return key;
});

const flaky = task("flaky", { retries: 1_000, retryDelay: "0.02s" }, async (file: string, key: string, times: number) => {
  appendFileSync(file, `tried ${key}\n`);
  if (noted(file, `tried ${key}`) <= times) throw new Error(`not yet ${key}`);
  return key;
});

const caught = task("caught", async (key: string) => {
  throw new Error(key);
});

const late = task("late", { timeout: "0.1s" }, async () => {
  await pause(60_000, undefined, { signal: task.signal });
});

const mapped = task("mapped", async ({ n, failing }: { n: number; failing: number }) => {
  await pause(n);
  if (n === failing) throw new Error(`item ${n}`);
  return n;
});

const gpu = task(
  "gpu",
  { resources: { gpu: 1 } },
  async (held: string, id: string, ms: number) => await hold(held, "gpu", id, ms),
);

const cached = task("cached", { cache: { key: "of all runs", expires: "1h" } }, async () => {
  await pause(5);
  return "kept";
});

const inner = task("inner", async (n: number) => n);

const outer = task("outer", async (times: number) => {
  let sum = 0;
  for (let n = 0; n < times; n += 1) sum += await inner(n);
  return sum;
});

/** How many lines of a file are this one. */
function noted(file: string, line: string): number {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((each) => each === line).length;
}

/** Notes what is held, and that it is not any more. */
async function hold(held: string, what: string, id: string, ms: number): Promise<string> {
  appendFileSync(held, `in ${what} ${id} ${process.pid}\n`);
  try {
    await pause(ms, undefined, { signal: task.signal });
  } finally {
    appendFileSync(held, `out ${what} ${id} ${process.pid}\n`);
  }
  return id;
}

async function one(part: Part, run: Described): Promise<unknown> {
  const { key } = part;
  const id = `${run.id}/${key}`;
  switch (part.kind) {
    case "work":
      return await work(key, part.ms);
    case "compute":
      return await compute(key, part.ms);
    case "flaky":
      return await flaky(run.file, key, part.times);
    case "caught":
      return await caught(key).catch((error: Error) => error.message);
    case "late":
      return await late().catch((error: Error) => error.name);
    case "map": {
      const items = Array.from({ length: part.times }, (_, n) => ({ n, failing: part.failing }));
      const results = await mapped.map(items, { concurrency: part.concurrency, settle: true, label: ({ n }) => `${key}-${n}` });
      return results.map((each) => (each.status === "fulfilled" ? each.value : (each.reason as Error).message));
    }
    case "gpu":
      return await gpu(run.held, id, part.ms);
    case "leased":
      return await lease({ uplink: 0.5 }, async () => await hold(run.held, "uplink", id, part.ms));
    case "cached":
      return await cached();
    case "lines":
      for (let n = 0; n < part.times; n += 1) log.info(`${id} line ${n}`);
      return key;
    case "printed":
      for (let n = 0; n < part.times; n += 1) console.log(`${id} line ${n}`);
      return key;
    case "artifact":
      await artifact.markdown(id, `# ${id}`, { key: key.toLowerCase() });
      return key;
    case "nested":
      return await outer(part.times);
    case "all":
      return await Promise.all(part.parts.map((each) => one(each, run)));
    case "each":
      return await inTurn(part.parts, run);
  }
}

async function inTurn(parts: readonly Part[], run: Described): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const part of parts) results.push(await one(part, run));
  return results;
}

/** Notes what the run holds while it does all its parts. */
async function holding(what: string, run: Described): Promise<unknown[]> {
  appendFileSync(run.held, `in ${what} ${run.id} ${process.pid}\n`);
  try {
    return await inTurn(run.parts, run);
  } finally {
    appendFileSync(run.held, `out ${what} ${run.id} ${process.pid}\n`);
  }
}

export const mix = flow("mix", OPTIONS, async (run) => await inTurn(run.parts, run));
export const few = flow("few", { ...OPTIONS, maxConcurrent: 2 }, async (run) => await holding("few", run));
export const held = flow("held", { ...OPTIONS, resources: { db: 1 } }, async (run) => await holding("db", run));
export const alone = flow("alone", { ...OPTIONS, exclusive: true }, async (run) => await inTurn(run.parts, run));
export const apart = flow("apart", { ...OPTIONS, isolated: true }, async (run) => await inTurn(run.parts, run));

/** Completes with its third attempt. */
export const again = flow("again", { ...OPTIONS, retries: 3, retryDelay: "0.05s" }, async (run) => {
  appendFileSync(run.file, "attempt\n");
  const results = await inTurn(run.parts, run);
  if (noted(run.file, "attempt") < 3) throw new Error("not yet");
  return results;
});

export const fails = flow("fails", OPTIONS, async (run) => {
  await inTurn(run.parts, run);
  throw new Error(`fails ${run.id}`);
});

export const slow = flow("slow", { ...OPTIONS, timeout: "1s" }, async (run) => {
  await inTurn(run.parts, run);
  await pause(60_000, undefined, { signal: task.signal });
});
