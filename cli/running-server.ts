/** Starting a server inside this process, for `serve` and for `run` without one. */

import type { LoadedConfig } from "#server/config";
import type { RunningServer } from "#server/main";
import { CommandError } from "./exit-code.ts";

export type { RunningServer };

/** What can be done about a start that failed, by the name of its error. Others are defects and shown with their stack. */
const ADVICE: Readonly<Record<string, string | null>> = {
  AddressSpaceError: "Lift that limit, and limit the memory that is used instead: MemoryMax of systemd, or a container.",
  ConfigError: null,
  HomeLockedError: "Stop that server, or choose another data directory with --home.",
  ListenError: "Choose another port with --port; 0 takes a free one.",
  StorageError: null,
};

const DAMAGED =
  "`millrace doctor` says what is damaged; `millrace restore FILE` puts a backup in its place and keeps what was there.";

/** In the words of SQLite: an error of another thread has no more than its message. */
function isDamaged({ message }: Error): boolean {
  return message.includes("malformed") || message.includes("not a database");
}

/**
 * The server's code is large and only these two commands need it.
 * @param cut once aborted, files that are not looked at yet are left out
 * @throws CommandError for what the person who starts it can put right.
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
