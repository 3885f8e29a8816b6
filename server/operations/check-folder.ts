/** Checks a folder as a start would find it: its settings, and what its files define. Nothing is stored and nothing listens. */
import { resolve } from "node:path";
import { type ConfigError, loadConfig } from "../config/config.ts";
import { type Discovery, discover } from "../discovery/discovery.ts";
import { UserCodeChild } from "../user-code/child-process.ts";

/** A check calls no user code after the imports, so that no call is ever silent. */
const BLOCKED_MS = 10_000;

export interface FolderCheck {
  /** Why the settings cannot be used; null if they can. */
  settingsError: string | null;
  /** Settings that have no effect, and files that are not looked at. */
  warnings: string[];
  /** Null if the settings cannot be used. */
  discovery: Discovery | null;
}

export async function checkFolder(dir: string): Promise<FolderCheck> {
  const folder = resolve(dir);
  let loaded: ReturnType<typeof loadConfig>;
  try {
    loaded = loadConfig({}, process.env, folder);
  } catch (error) {
    if (!isConfigError(error)) throw error;
    return { settingsError: error.message, warnings: [], discovery: null };
  }
  const options = { execArgv: process.execArgv, heapMb: loaded.config.userCodeHeapMb, blockedMs: BLOCKED_MS };
  const env = { ...process.env, MILLRACE_HOME: loaded.config.home };
  const start = (): UserCodeChild => new UserCodeChild({ ...options, env, print: () => undefined });
  const { discovery, child } = await discover(folder, start);
  child?.kill();
  return { settingsError: null, warnings: [...loaded.warnings, ...discovery.warnings], discovery };
}

function isConfigError(error: unknown): error is ConfigError {
  return error instanceof Error && error.name === "ConfigError";
}
