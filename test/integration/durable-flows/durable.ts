/** Durable flows; what they do outside is a line in a file of the folder that a run names. */
import { access, appendFile } from "node:fs/promises";
import { join } from "node:path";
import { callback, child, childMap, flow, run, sleep, step, Type, task, WaitTimeout, waitForEvent, waitForInput } from "millrace";

const folder = Type.Object({ folder: Type.String() });

const mark = task("mark", async (path: string, text: string) => {
  await appendFile(join(path, "effects"), `${text}\n`);
  return { text, at: new Date(0) };
});

export const steps = flow("steps", { durable: true, parameters: folder, retries: 1 }, async ({ folder: path }) => {
  const first = await mark(path, "first");
  await Promise.all([1, 2, 3].map((n) => mark(path, `side ${n}`)));
  await step("large", async () => {
    await appendFile(join(path, "effects"), "large\n");
    return "ü".repeat(50_000);
  });
  if (run.attempt === 1) throw new Error("once");
  return first.at instanceof Date;
});

export const sleeper = flow(
  "sleeper",
  { durable: true, parameters: folder, resources: { bed: 1 }, timeout: "20s" },
  async ({ folder: path }) => {
    await mark(path, "before");
    await sleep("1h");
    await mark(path, "after");
    return run.id;
  },
);

export const crashing = flow("crashing", { durable: true, parameters: folder }, async ({ folder: path }) => {
  for (let n = 1; n <= 5; n += 1) await mark(path, `step ${n}`);
  if (run.externalId === (await step("first run", () => run.externalId))) process.exit(3);
  return "survived";
});

export const failing = flow("failing", { durable: true, parameters: folder }, async ({ folder: path }) => {
  await mark(path, "marked");
  const first = await step("first run", () => run.id);
  await step("fails once", () => {
    if (run.id === first) throw new Error("the first run fails");
  });
  return "later";
});

const inner = task("inner", async (path: string) => {
  await appendFile(join(path, "effects"), "inner\n");
});
const outer = task("outer", async (path: string) => {
  await inner(path);
  await appendFile(join(path, "effects"), "outer\n");
  return "x".repeat(70_000);
});

/** Fails as long as the folder has no file "go". */
export const nesting = flow("nesting", { durable: true, parameters: folder }, async ({ folder: path }) => {
  const { length } = await outer(path);
  await access(join(path, "go"));
  return length;
});

export const asking = flow("asking", { durable: true, parameters: folder }, async ({ folder: path }) => {
  await mark(path, "asked");
  const answer = await waitForInput("How many?", Type.Integer());
  await mark(path, "answered");
  return answer;
});

export const paying = flow("paying", { durable: true, parameters: folder }, async ({ folder: path }) => {
  await mark(path, "ordered");
  const paid = await waitForEvent("order.paid", { where: { "payload.order": path }, timeout: "1h" });
  const late = await waitForEvent("never", { timeout: 0.2 }).catch((error: unknown) => error instanceof WaitTimeout);
  return [paid.payload["by"], late];
});

export const calling = flow("calling", { durable: true, parameters: folder }, async ({ folder: path }) => {
  const made = await callback<{ ok: boolean }>({ timeout: "1h" });
  await mark(path, made.url);
  const answer = await made.result();
  await mark(path, made.url);
  return answer;
});

export const leaf = flow("leaf", { durable: true, parameters: Type.Object({ n: Type.Integer() }) }, async ({ n }) => {
  if (n === 13) throw new Error("unlucky");
  return n * 2;
});

export const middle = flow("middle", { durable: true, parameters: Type.Object({ n: Type.Integer() }) }, async ({ n }) => {
  return (await child(leaf, { n }).run()) + 1;
});

export const parent = flow("parent", { durable: true, parameters: Type.Object({ n: Type.Integer() }) }, async ({ n }) => {
  const failed = await child(leaf, { n: 13 })
    .run()
    .catch((error: unknown) => String(error));
  const sums = await childMap(
    middle,
    Array.from({ length: n }, (_, index) => ({ n: index })),
  );
  return { failed, sums };
});

export const later = flow("later", { retries: 1, retryDelay: "1h" }, async () => {
  if (run.attempt === 1) throw new Error("first");
  return run.attempt;
});

export const impatient = flow("impatient", () => sleep("1h"));
