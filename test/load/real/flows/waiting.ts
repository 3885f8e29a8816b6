import { setTimeout as sleep } from "node:timers/promises";
import { flow, Type } from "millrace";

/** Waits as for an answer of another system. */
export const waiting = flow("waiting", { parameters: Type.Object({ seconds: Type.Number() }) }, async ({ seconds }) => {
  await sleep(seconds * 1_000);
});
