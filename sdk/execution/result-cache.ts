import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeWhole } from "../define/target.ts";
import { decodeValue, encodeValue } from "../durable/values.ts";

/** How often expired results are searched for, in microseconds: an hour. */
const PRUNE_US = 3_600_000_000;

interface StoredResult {
  task: string;
  key: string;
  /** Microseconds since the Unix epoch. */
  created_at: number;
  expires_at: number | null;
  /** As by `encodeValue`. */
  encoded: string;
}

const prunedUs = new Map<string, number>();

/** The stored result of a task under a key, or undefined when there is none or it has expired. */
export async function readResult(
  home: string,
  task: string,
  key: string,
  nowUs: number,
): Promise<{ value: unknown } | undefined> {
  const path = resultPath(home, task, key);
  const stored = await readStored(path);
  if (stored === undefined || stored.task !== task || stored.key !== key) return undefined;
  if (!isExpired(stored, nowUs)) return decoded(stored);
  await rm(path, { force: true });
  return undefined;
}

/** The value of a stored result; undefined for one of an older version, or of a newer one that knows more kinds of values. */
function decoded({ encoded }: StoredResult): { value: unknown } | undefined {
  try {
    return { value: decodeValue(encoded) };
  } catch {
    return undefined;
  }
}

/**
 * Stores a result until `expiresUs` (null: without expiry), and occasionally removes expired results.
 * @throws NotStorableError for a result with a function, a symbol, or an instance of a class
 */
export async function writeResult(
  home: string,
  task: string,
  key: string,
  value: unknown,
  nowUs: number,
  expiresUs: number | null,
): Promise<void> {
  const stored: StoredResult = { task, key, created_at: nowUs, expires_at: expiresUs, encoded: encodeValue(value) };
  await writeWhole(resultPath(home, task, key), JSON.stringify(stored));
  if (nowUs - (prunedUs.get(home) ?? Number.NEGATIVE_INFINITY) < PRUNE_US) return;
  prunedUs.set(home, nowUs);
  await pruneResults(home, nowUs);
}

/** Removes every expired result. */
export async function pruneResults(home: string, nowUs: number): Promise<void> {
  const directory = join(home, "results");
  for (const name of await readdir(directory).catch(() => [])) {
    if (!name.endsWith(".json")) continue;
    const path = join(directory, name);
    const stored = await readStored(path);
    if (stored !== undefined && isExpired(stored, nowUs)) await rm(path, { force: true });
  }
}

function resultPath(home: string, task: string, key: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([task, key]))
    .digest("hex");
  return join(home, "results", `${hash}.json`);
}

async function readStored(path: string): Promise<StoredResult | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as StoredResult;
  } catch {
    // Missing or damaged: both count as a miss, and the next write replaces the file.
    return undefined;
  }
}

function isExpired(stored: StoredResult, nowUs: number): boolean {
  return stored.expires_at !== null && stored.expires_at <= nowUs;
}
