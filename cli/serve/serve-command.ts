/** `millrace serve` and its options. */
import type { ConfigFlags } from "#server/config/config";
import type { CommandSpec } from "../command-spec.ts";

export const SERVE: CommandSpec = {
  name: "serve",
  description: "serve the flows of a directory",
  arguments: [{ name: "[dir]", description: "directory with flow files and millrace.toml", default: "." }],
  options: [
    { flags: "--home <dir>", description: "data directory (default: MILLRACE_HOME or ~/.millrace)" },
    { flags: "--host <host>", description: "address to listen on (default: 127.0.0.1)" },
    { flags: "--port <port>", description: "port to listen on, 0 takes a free one (default: 4270)" },
    { flags: "--token <token>", description: "token that clients must send (default: none)" },
    { flags: "--socket <path>", description: "also listen on a Unix socket, without a token" },
    { flags: "--max-engines <n>", description: "engine processes at one time (default: number of processors)" },
    { flags: "--engine-max-runs <n>", description: "runs after which an engine process is replaced (default: 100000)" },
    { flags: "--crash-retries <n>", description: "times a crashed run is tried again (default: 5; the file's value wins)" },
    {
      flags: "--durability <level>",
      description: "normal, or full: each commit is synced to the disk (default: normal)",
    },
    {
      flags: "--store <url>",
      description: "PostgreSQL database of the store (default: MILLRACE_STORE or db.sqlite in the home)",
    },
    { flags: "--wait <time>", description: "wait so long for a database that cannot be reached: 60s, 5m (default: 0s)" },
    { flags: "--drain <time>", description: "let runs end before a stop, for at most this time: 60s, 5m (default: 0s)" },
    { flags: "--no-engines", description: "start no engine processes" },
    { flags: "--no-open", description: "do not open a browser" },
    { flags: "--allow-anonymous", description: "listen beyond this machine without a token" },
  ],
  async run([dir = "."], flags: ConfigFlags) {
    const { serve } = await import("./serve.ts");
    return await serve(dir, flags);
  },
};
