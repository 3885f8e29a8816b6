/** The client of the command line, with errors in the terms of the command line. */

import { parseJson } from "#protocol/values/json";
import { Millrace, type MillraceError } from "#sdk/client/index";
import { CommandError } from "./exit-code.ts";

/** Options of every command that connects to a server. */
export interface ConnectionOptions {
  home?: string;
  token?: string;
  url?: string;
  json?: boolean;
}

export function connect(options: ConnectionOptions): Millrace {
  const { home, url } = options;
  const token = options.token ?? (process.env["MILLRACE_TOKEN"] || null);
  return new Millrace({ home, url, token, parse: parseJson });
}

/** One line for a failure of the client: its cause and the remedy. */
export function commandError(error: MillraceError): CommandError {
  if (error.reason === "unreachable") {
    return new CommandError(error.message, "Start a server with `millrace serve`, or name one with --url or --home.");
  }
  if (error.status === 401 || error.status === 403) {
    return new CommandError(error.message, "Pass the server's token with --token or MILLRACE_TOKEN.");
  }
  return new CommandError(error.message);
}
