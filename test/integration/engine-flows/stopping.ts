import { flow, log, task } from "millrace";

const hang = task(
  "hang",
  () => new Promise<void>((_, reject) => task.signal.addEventListener("abort", () => reject(task.signal.reason))),
);

export const obedient = flow("obedient", async () => {
  log.info("started");
  await hang();
});

export const busy = flow("busy", () => {
  log.info("started");
  for (;;);
});

export const busyTask = flow("busy-task", async () => {
  await task("spin", () => {
    log.info("started");
    for (;;);
  })();
});

export const timedBusy = flow("timed-busy", { timeout: "700ms" }, () => {
  for (;;);
});

export const timedHang = flow("timed-hang", { timeout: "200ms", retries: 2 }, () => hang());

export const exits = flow("exits", async () => {
  log.info("about to exit");
  await task("exit", () => process.exit(3))();
});

export const uncaught = flow("uncaught", async () => {
  setImmediate(() => {
    throw new TypeError("from a callback");
  });
  await new Promise(() => undefined);
});

export const late = flow("late", () => {
  setTimeout(() => {
    throw new TypeError("after the end");
  }, 50);
});

export const rejects = flow("rejects", async () => {
  setImmediate(() => void Promise.reject(new Error("lost", { cause: new RangeError("root") })));
  await new Promise(() => undefined);
});

export const memory = flow("memory", async () => {
  const kept: number[][] = [];
  for (;;) {
    kept.push(new Array<number>(10_000).fill(1.5));
    if (kept.length % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
});

export const lingering = flow("lingering", () => {
  void (async () => {
    for (;;) await new Promise((resolve) => setTimeout(resolve, 20));
  })();
  const stray = task("stray", { timeout: 0.05 }, () => new Promise(() => setInterval(() => undefined, 10)));
  return stray().catch(() => "went on");
});

let imported = 0;

export const fresh = flow("fresh", () => {
  imported += 1;
  return imported;
});
