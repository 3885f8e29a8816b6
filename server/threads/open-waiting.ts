/** Waits for a database that cannot be reached. */
import { setTimeout as sleep } from "node:timers/promises";
import { StorageError } from "#storage/sqlite/storage-error";

const AGAIN_MS = 250;

/**
 * Opens the store, again and again for `limitSecs` while the database cannot be reached.
 * @param warn called once with the first error that is waited for
 * @throws StorageError the last error after this time; an error of another kind at once
 */
export async function openWaiting<S>(open: () => Promise<S>, limitSecs: number, warn: (text: string) => void): Promise<S> {
  const start = performance.now();
  let warned = false;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const leftMs = start + limitSecs * 1000 - performance.now();
      if (!(error instanceof StorageError) || error.fault !== "unreachable" || leftMs <= 0) throw error;
      if (!warned) warn(`waiting for the store: ${error.message}`);
      warned = true;
      await sleep(Math.min(AGAIN_MS, leftMs));
    }
  }
}
