/** Results that are too large for the store: files of the home, named by their content. */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

export interface ResultFile {
  sha256: string;
  bytes: number;
}

/** Writes a result so that it is whole on disk before its name is. */
export async function writeResultFile(home: string, text: string): Promise<ResultFile> {
  const data = Buffer.from(text);
  const sha256 = createHash("sha256").update(data).digest("hex");
  const directory = join(home, "results", "steps");
  const path = join(directory, sha256);
  const result = { sha256, bytes: data.byteLength };
  if ((await sizeOf(path)) === data.byteLength) {
    // Files that no step names are deleted some time after their last use.
    const now = new Date();
    await utimes(path, now, now);
    return result;
  }
  await mkdir(directory, { recursive: true });
  const beside = `${path}.${randomUUID()}.part`;
  try {
    const file = await open(beside, "wx");
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
    await syncDirectory(directory);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  return result;
}

/** @throws Error for a file that is missing or was changed */
export async function readResultFile(home: string, { sha256 }: ResultFile): Promise<string> {
  const path = join(home, "results", "steps", sha256);
  const data = await readFile(path);
  if (createHash("sha256").update(data).digest("hex") !== sha256) throw new Error(`the stored result ${path} was changed`);
  return data.toString();
}

async function sizeOf(path: string): Promise<number | null> {
  return await stat(path).then(
    ({ size }) => size,
    () => null,
  );
}

/** The name of a new file is on disk once its directory is; systems without that (Windows) refuse it. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r").catch(() => null);
  if (handle === null) return;
  await handle.sync().catch(() => undefined);
  await handle.close();
}
