/** Ends whatever a load test has started, in any case: after its end, its failure and an interrupt. */
import { LoadFailed } from "./load-failed.ts";

/** Registers what is to be ended, as soon as its start begins. */
export type Cleanup = (end: () => unknown) => void;

export async function withCleanup<T>(interrupt: AbortSignal, work: (cleanup: Cleanup) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  let isOver = false;
  const interrupted = new Promise<never>((_resolve, reject) => {
    if (interrupt.aborted) reject(new LoadFailed("interrupted"));
    interrupt.addEventListener("abort", () => reject(new LoadFailed("interrupted")), { once: true });
  });
  const cleanup: Cleanup = (end) => {
    // Work goes on for a moment after an interrupt.
    if (isOver) void Promise.resolve(end()).catch(() => undefined);
    else ends.push(end);
  };
  try {
    return await Promise.race([work(cleanup), interrupted]);
  } finally {
    isOver = true;
    // Engines before their servers.
    for (const end of ends.reverse()) await Promise.allSettled([(async () => await end())()]);
  }
}

/** Waits for something that is starting and is to be stopped afterwards. */
export async function started<T extends { stop: () => unknown }>(cleanup: Cleanup, starting: Promise<T>): Promise<T> {
  cleanup(async () => (await starting).stop());
  return await starting;
}
