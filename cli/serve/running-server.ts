/** Starts a server inside this process, for `serve` and for `run` without a server. */

import type { LoadedConfig } from "#server/config/config";
import type { RunningServer } from "#server/main";
import { CommandError } from "../exit-code.ts";

export type { RunningServer };

/** Advice for a failed start, by the name of its error. Other errors are defects and shown with their stack. */
const ADVICE: Readonly<Record<string, string | null>> = {
  AddressSpaceError: "Lift that limit, and limit the memory that is used instead: MemoryMax of systemd, or a container.",
  ConfigError: null,
  HomeLockedError: "Stop that server, or choose another data directory with --home.",
  ListenError: "Choose another port with --port; 0 takes a free one.",
  StorageError: null,
};

const DAMAGED =
  "`millrace doctor` says what is damaged; `millrace restore FILE` puts a backup in its place and keeps what was there.";

/** Recognised by SQLite's text: an error from another thread has only its message. */
function isDamaged({ message }: Error): boolean {
  return message.includes("malformed") || message.includes("not a database");
}

/**
 * The server's code is large and only these two commands need it.
 * @param cut once aborted, remaining files are skipped
 * @throws CommandError for errors that the user can resolve.
 */
export async function startServer(loaded: LoadedConfig, servedDir: string, cut?: AbortSignal): Promise<RunningServer> {
  const main = await import("#server/main");
  try {
    return await main.startServer(loaded.config, servedDir, cut);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const advice = isDamaged(error) ? DAMAGED : ADVICE[error.name];
    throw advice === undefined ? error : new CommandError(error.message, advice);
  }
}
