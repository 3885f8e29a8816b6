/** Flows of steps that note outside what they did, for the acceptance of durable runs. */
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { child, flow, sleep, step, Type } from "millrace";

const Noted = Type.Object({ file: Type.String(), branches: Type.Integer(), steps: Type.Integer() });

/** Branches of steps: each step notes that it was done, and the flow that the step's promise has resolved. */
export const branches = flow(
  "branches",
  { durable: true, parameters: Noted, crashRetries: 1_000_000 },
  async ({ file, branches: width, steps }) => {
    const branch = async (name: number): Promise<number> => {
      let sum = 0;
      for (let n = 0; n < steps; n += 1) {
        sum += await step(`step-${name}-${n}`, async () => {
          appendFileSync(file, `did ${name}-${n}\n`);
          await pause(10);
          return 1_000 * name + n;
        });
        appendFileSync(file, `resolved ${name}-${n}\n`);
      }
      return sum;
    };
    const sums = await Promise.all(Array.from({ length: width }, (_, name) => branch(name)));
    return sums.reduce((total, sum) => total + sum, 0);
  },
);

const leaf = flow("leaf", { durable: true }, async () => await step("leaf", () => 1));
const third = flow("third", { durable: true }, async () => 1 + (await child(leaf, {}).run()));
const second = flow("second", { durable: true }, async () => 1 + (await child(third, {}).run()));

/** Parents three deep, each of which waits for its child. */
export const nested = flow("nested", { durable: true }, async () => 1 + (await child(second, {}).run()));

export { leaf, second, third };

/** Sleeps longer than an engine waits in place. */
export const sleeps = flow(
  "sleeps",
  { durable: true, parameters: Type.Object({ seconds: Type.Number() }) },
  async ({ seconds }) => {
    const fromMs = await step("begin", () => Date.now());
    await sleep(seconds);
    return Date.now() - fromMs;
  },
);
