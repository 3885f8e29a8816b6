/** What every worker thread is given when it starts. */
import type { ThreadCount } from "#actors/tree";
import type { ServerConfig } from "../config.ts";
import type { OpenFilesPlan } from "../open-files.ts";

export interface ThreadData {
  config: ServerConfig;
  servedDir: string | null;
  version: string;
  pid: number;
  /** Start of the server, microseconds since the Unix epoch. */
  startedAt: number;
  /** The process had been up for so long then: one process may start servers one after the other. */
  startedUptimeUs: number;
  databasePath: string;
  openFiles: OpenFilesPlan;
  /** Name of this host as engines announce theirs. */
  host: string;
  /** The name of this thread in the placement. */
  thread: string;
  threads: ThreadCount;
  /** False: no port and no socket; requests come from this process only. */
  listens: boolean;
  /** How often threads were started before, so that numbers of a thread that is started again are larger. */
  threadStarts: number;
}
