/**
 * A file of user code as it was just before it was loaded, and whether it still is the same. Times and size answer that with one
 * look at the file, except for a file that was changed a moment before: a second edit may get the same times and size, so its
 * content is compared until its times are old enough.
 */
import { hash } from "node:crypto";
import { readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { systemClock } from "./clock.ts";

export interface LoadedFile {
  /** Absolute, as the import names it: a link that points elsewhere later is another file. */
  path: string;
  /** The file behind links; empty when there was none. */
  target: string;
  device: number;
  inode: number;
  size: number;
  modifiedMs: number;
  /** Time of the last change of content or attributes: set by the system, so that no tool can put it back. */
  changedMs: number;
  content: string;
  /** An edit from now on gets other times. */
  settled: boolean;
}

/** The coarsest times that file systems keep are those of FAT: two seconds. */
const SETTLED_AFTER_MS = 2_500;

/** Reads a file as it is now. */
export function recordFile(path: string): LoadedFile {
  const nowUs = systemClock.nowUs();
  const stat = statOf(path);
  const content = stat === undefined ? null : contentOf(path);
  if (stat === undefined || content === null) return { ...NO_FILE, path };
  return { path, target: realpathSync.native(path), ...timesOf(stat), content, settled: isSettled(stat, nowUs) };
}

/** Whether the file is another one, or has another content, than the one that was loaded; one that was only touched is the same. */
export function isChanged(file: LoadedFile): boolean {
  const stat = statOf(file.path);
  if (stat === undefined) return file.target !== "";
  if (file.settled && hasTimes(file, stat)) return false;
  const now = recordFile(file.path);
  if (now.target !== file.target || now.content !== file.content) return true;
  Object.assign(file, now);
  return false;
}

/** Whether what a file or folder looks like now would also be what a later change looks like. */
export function isSettled({ ctimeMs }: Stats, nowUs = systemClock.nowUs()): boolean {
  return nowUs / 1000 - ctimeMs > SETTLED_AFTER_MS;
}

const NO_FILE = {
  target: "",
  device: 0,
  inode: 0,
  size: 0,
  modifiedMs: 0,
  changedMs: 0,
  content: "",
  settled: true,
} as const;

function timesOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats) {
  return { device: dev, inode: ino, size, modifiedMs: mtimeMs, changedMs: ctimeMs };
}

function hasTimes(file: LoadedFile, stat: Stats): boolean {
  return (
    file.changedMs === stat.ctimeMs &&
    file.modifiedMs === stat.mtimeMs &&
    file.size === stat.size &&
    file.inode === stat.ino &&
    file.device === stat.dev
  );
}

/** Undefined for what cannot be loaded: nothing there, a folder, or no right to look. */
function statOf(path: string): Stats | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() === true ? stat : undefined;
  } catch {
    return undefined;
  }
}

function contentOf(path: string): string | null {
  try {
    return hash("sha1", readFileSync(path));
  } catch {
    return null;
  }
}
