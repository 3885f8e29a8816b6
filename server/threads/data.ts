/** The data that every worker thread gets at its start. */
import type { ThreadCount } from "#actors/tree";
import type { ServerConfig } from "../config/config.ts";
import type { OpenFilesPlan } from "../open-files.ts";

export interface ThreadData {
  config: ServerConfig;
  servedDir: string | null;
  version: string;
  pid: number;
  /** Start of the server, microseconds since the Unix epoch. */
  startedAt: number;
  /** Uptime of the process at that moment: one process may start several servers in sequence. */
  startedUptimeUs: number;
  /** The path of the SQLite file, or the URL of the PostgreSQL database. */
  store: string;
  openFiles: OpenFilesPlan;
  /** Name of this host, as in the announcements of engines. */
  host: string;
  /** The name of this thread in the placement. */
  thread: string;
  threads: ThreadCount;
  /** False: no port and no socket; requests come from this process only. */
  listens: boolean;
  /** Number of starts of this thread, so that the numbers it assigns grow over its restarts. */
  threadStarts: number;
}
