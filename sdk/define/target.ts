import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** The product of a task. A task whose target exists is skipped. */
export interface Target {
  /** True if the task has nothing to do. */
  exists(): boolean | Promise<boolean>;
}

/** A file as a target, written whole or not at all. */
export interface FileTarget extends Target {
  /** The absolute path. */
  readonly path: string;
  /** True if the file exists. */
  exists(): Promise<boolean>;
  /** The content as UTF-8. */
  readText(): Promise<string>;
  /** Writes beside the file and renames over it; creates missing directories. */
  write(data: string | Uint8Array): Promise<void>;
  /** Removes the file, if it exists. */
  remove(): Promise<void>;
}

/**
 * A file as a task's `output`. A relative path is resolved against the working directory.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { mkdtemp } from "node:fs/promises";
 * import { tmpdir } from "node:os";
 * import { join } from "node:path";
 * import { file } from "millrace";
 *
 * const target = file(join(await mkdtemp(join(tmpdir(), "target-")), "orders.csv"));
 * assert.equal(await target.exists(), false);
 * await target.write("id,total\n");
 * assert.equal(await target.readText(), "id,total\n");
 * ```
 */
export function file(path: string): FileTarget {
  const whole = resolve(path);
  return {
    path: whole,
    exists: () =>
      stat(whole).then(
        () => true,
        () => false,
      ),
    readText: () => readFile(whole, "utf8"),
    write: (data) => writeWhole(whole, data),
    remove: () => rm(whole, { force: true }),
  };
}

/** Writes a file so that readers see the old content or the whole new content. */
export async function writeWhole(path: string, data: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const beside = `${path}.${randomUUID()}.part`;
  try {
    await writeFile(beside, data);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
