import { flow, log, task } from "millrace";

const step = task("step", async (n: number) => {
  log.info(`step ${n}`);
  return n;
});

/** Three tasks, one after the other, each with a log line. */
export const tasks = flow("tasks", async () => {
  for (let n = 1; n <= 3; n++) await step(n);
});
