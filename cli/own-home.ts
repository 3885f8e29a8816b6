/** The home of commands that work on files of this machine. */
import { clientHome } from "#sdk/client/local-server";
import { CommandError } from "./exit-code.ts";

/** @throws CommandError when the options name a remote server: its files are out of reach. */
export function ownHome({ home, url }: { home?: string; url?: string }): string {
  if (url !== undefined)
    throw new CommandError("this command works on the home of a server of this machine", "Name it with --home instead of --url.");
  return clientHome(home);
}
