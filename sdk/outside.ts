/** What user code asks of the server outside a run: of the one that runs for the home. */

import type { Millrace } from "./client/index.ts";
import { clientHome } from "./client/local-server.ts";
import { ServerVariables, type VariableStore } from "./variable-store.ts";

/** The client of the home's server. */
export async function outsideClient(): Promise<Millrace> {
  const { Millrace } = await import("./client/index.ts");
  return new Millrace();
}

export function outsideVariables(): VariableStore {
  return new ServerVariables(outsideClient, clientHome());
}
