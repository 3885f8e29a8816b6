/** The home and the store of commands that work on files of this machine. */
import { clientHome } from "#sdk/client/local-server";
import type { StorePlace } from "#server/config/config";
import { CommandError } from "./exit-code.ts";

/** @throws CommandError when the options name a remote server: its files are out of reach. */
export function ownHome({ home, url }: { home?: string; url?: string }): string {
  if (url !== undefined)
    throw new CommandError("this command works on the home of a server of this machine", "Name it with --home instead of --url.");
  return clientHome(home);
}

/** The store that a server of this home would have, with these options, this environment and this working directory. */
export async function ownStore({ store, ...own }: { home?: string; url?: string; store?: string }): Promise<StorePlace> {
  const home = ownHome(own);
  if (store === "") throw new CommandError("--store must not be empty", "Leave it out for the store of the home.");
  const { findStore } = await import("#server/config/config");
  return findStore(store, process.env, home, process.cwd());
}
