/** Options that may precede every command, and follow those that connect to a server. */
import type { OptionSpec } from "./command-spec.ts";

export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  { flags: "--home <dir>", description: "data directory (default: MILLRACE_HOME or ~/.millrace)" },
  { flags: "--token <token>", description: "token of the server (default: MILLRACE_TOKEN)" },
  { flags: "--url <url>", description: "address of the server (default: the one running for the data directory)" },
  { flags: "--json", description: "print data as JSON" },
];

/** The same options after a command, with short descriptions. */
export const CONNECTION_OPTIONS: readonly OptionSpec[] = [
  { flags: "--home <dir>", description: "data directory of the server" },
  { flags: "--token <token>", description: "token of the server" },
  { flags: "--url <url>", description: "address of the server" },
  { flags: "--json", description: "print data as JSON" },
];
