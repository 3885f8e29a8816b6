/** Durable flows for the command line: one that fails until a file exists, one that sleeps, and one that asks. */
import { appendFileSync, existsSync } from "node:fs";
import { flow, sleep, Type, task, waitForInput } from "millrace";

const note = task("note", (folder: string, word: string) => {
  appendFileSync(`${folder}/noted`, `${word}\n`);
  return word;
});

export const fragile = flow(
  "fragile",
  { durable: true, parameters: Type.Object({ folder: Type.String() }) },
  async ({ folder }) => {
    await note(folder, "first");
    await note(folder, "second");
    if (!existsSync(`${folder}/mended`)) throw new Error("not mended");
    return await note(folder, "third");
  },
);

export const nap = flow("nap", { durable: true }, async () => {
  await sleep("1h");
  return "rested";
});

export const inquire = flow("inquire", { durable: true }, () => waitForInput("Order the paint?", Type.Boolean()));
