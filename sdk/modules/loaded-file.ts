/**
 * A file of user code as it was just before it was loaded, and whether it is still the same. Normally times and size decide
 * that with one stat call. A file that was changed a moment before is compared by content until its times are old enough,
 * because a second edit may get the same times and size.
 */
import { hash } from "node:crypto";
import { readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { systemClock } from "../execution/clock.ts";

export interface LoadedFile {
  /** Absolute, as written in the import: a link that points elsewhere later counts as another file. */
  path: string;
  /** The file behind links; empty if there was none. */
  target: string;
  device: number;
  inode: number;
  size: number;
  modifiedMs: number;
  /** Time of the last change of content or attributes: the system sets it, so no tool can reset it. */
  changedMs: number;
  content: string;
  /** True when any later edit gets different times. */
  settled: boolean;
}

/** The coarsest file times are those of FAT: two seconds. */
const SETTLED_AFTER_MS = 2_500;

/** Records the current state of a file. */
export function recordFile(path: string): LoadedFile {
  const nowUs = systemClock.nowUs();
  const stat = statOf(path);
  const content = stat === undefined ? null : contentOf(path);
  if (stat === undefined || content === null) return { ...NO_FILE, path };
  return { path, target: realpathSync.native(path), ...timesOf(stat), content, settled: isSettled(stat, nowUs) };
}

/** Whether the file has been replaced or its content has changed since it was loaded; a file that was only touched has not. */
export function isChanged(file: LoadedFile): boolean {
  const stat = statOf(file.path);
  if (stat === undefined) return file.target !== "";
  if (file.settled && hasTimes(file, stat)) return false;
  const now = recordFile(file.path);
  if (now.target !== file.target || now.content !== file.content) return true;
  Object.assign(file, now);
  return false;
}

/** Whether any later change of a file or folder will show in its times. */
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

/** Undefined for what cannot be loaded: nothing there, a folder, or no permission. */
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
