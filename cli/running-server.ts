/** Starting a server inside this process, for `serve` and for `run` without one. */

import type { LoadedConfig, ServerConfig } from "#server/config";
import type { Discovery } from "#server/discovery";

/** A server that has started, as server/main.ts gives it. */
export interface RunningServer {
  url: string;
  /** Resolves with the exit code once the server has stopped, for whatever reason. */
  stopped: Promise<number>;
  /** Stops in order; `stopped` tells when that is done. */
  stop(): Promise<void>;
  /** What was found in the served directory. */
  discovery?: Discovery;
}

type StartServer = (config: ServerConfig, servedDir: string) => Promise<RunningServer>;

/** The server's code is large and only these two commands need it. */
export async function startServer(loaded: LoadedConfig, servedDir: string): Promise<RunningServer> {
  const main = "#server/main";
  const { startServer: start } = (await import(main)) as { startServer: StartServer };
  return await start(loaded.config, servedDir);
}
