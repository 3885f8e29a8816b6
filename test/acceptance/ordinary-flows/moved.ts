/** Flows whose runs people move, and hooks that note what they are called for. */
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type FlowHooks, flow, type Hook, lease, Type, task, waitForInput } from "millrace";

const Moved = Type.Object({ hooks: Type.String(), path: Type.String(), n: Type.Integer(), ms: Type.Integer() });

const note =
  (hook: string): Hook =>
  ({ run }) =>
    appendFileSync(String(run.parameters["hooks"]), `${hook} ${run.id}\n`);
const hooks: FlowHooks = {
  onCompletion: note("Completed"),
  onFailure: note("Failed"),
  onCancel: note("Cancelled"),
  onCrash: note("Crashed"),
};
const OPTIONS = { parameters: Moved, crashRetries: 1_000_000, hooks } as const;

const work = task("work", { retries: 2, retryDelay: "0.05s" }, async (ms: number) => {
  await pause(ms, undefined, { signal: task.signal });
});

const gpu = task("gpu", { resources: { gpu: 1 } }, async (ms: number) => {
  await pause(ms, undefined, { signal: task.signal });
});

export const asks = flow("asks", OPTIONS, async ({ path, n, ms }) => {
  const answers: string[] = [];
  for (let k = 0; k < n; k += 1) {
    await work(ms);
    answers.push(await waitForInput(`?${path}/${k}`, Type.String()));
  }
  return answers;
});

export const uses = flow("uses", { ...OPTIONS, resources: { db: 1 } }, async ({ ms }) => {
  await gpu(ms);
  await lease({ gpu: 1 }, async () => await work(ms));
});

export const bounded = flow("bounded", { ...OPTIONS, maxConcurrent: 2 }, async ({ ms, n }) => {
  await work(ms);
  if (n === 0) throw new Error("as described");
});

export const skips = flow("skips", { ...OPTIONS, maxConcurrent: 1, onOverlap: "skip" }, async ({ ms }) => await work(ms));

export const limited = flow("limited", { ...OPTIONS, timeout: "0.3s" }, async ({ ms }) => await work(ms * 3));

export const repeats = flow("repeats", { ...OPTIONS, retries: 3, retryDelay: "1s" }, async ({ ms, n }) => {
  await work(ms);
  if (n > 2) throw new Error("as described");
});
