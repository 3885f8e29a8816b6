/** Results of steps that are too large for the store: files of the home, named by the SHA-256 of their content. */
import { statSync } from "node:fs";
import { opendir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { openReadHandle } from "../read/read-handle.ts";
import type { Database } from "../sqlite/driver.ts";

/** The directory of these files in the home. */
export const STEP_FILES = join("results", "steps");

/**
 * A file is written, or its time renewed, before the report that names it. An engine gives its runs up long before this time
 * without a server.
 */
const UNUSED_AFTER_MS = 24 * 3_600_000;

/** Deletes the files of a home that no step has named for a day, and parts of files whose engine died; returns their number. */
export async function deleteUnusedStepFiles(home: string, store: string, nowMs: number): Promise<number> {
  const database = openReadHandle(store);
  try {
    return await deleteUnused(join(home, STEP_FILES), database, nowMs);
  } finally {
    database.close();
  }
}

async function deleteUnused(directory: string, database: Database, nowMs: number): Promise<number> {
  const used = database.prepare<unknown>("SELECT 1 FROM steps WHERE file = ? LIMIT 1");
  const entries = await opendir(directory).catch(() => null);
  if (entries === null) return 0;
  let deleted = 0;
  for await (const { name } of entries) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: nowMs }));
    if (nowMs - mtimeMs < UNUSED_AFTER_MS) continue;
    const isResult = /^[0-9a-f]{64}$/.test(name);
    if (isResult && used.get(Buffer.from(name, "hex")) !== undefined) continue;
    if (!isResult && !name.endsWith(".part")) continue;
    await unlink(path).catch(() => undefined);
    deleted += 1;
  }
  return deleted;
}

/** The files that steps name, and what is wrong with them. */
export function checkStepFiles(home: string, database: Database): { count: number; problems: string[] } {
  const problems: string[] = [];
  let count = 0;
  const named = database.prepare<{ file: Uint8Array; bytes: number; run_id: number; name: string }>(
    "SELECT file, max(bytes) AS bytes, min(run_id) AS run_id, min(name) AS name FROM steps WHERE file IS NOT NULL GROUP BY file",
  );
  for (const { file, bytes, run_id, name } of named.iterate()) {
    count += 1;
    const path = join(home, STEP_FILES, Buffer.from(file).toString("hex"));
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? null;
    if (size === bytes) continue;
    const what = size === null ? "is missing" : `has ${size} bytes instead of ${bytes}`;
    problems.push(`the result of step "${name}" of run ${run_id} ${what}: ${path}`);
  }
  return { count, problems };
}
