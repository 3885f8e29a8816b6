/**
 * The child process of discovery: imports the modules it is told to, one at a time, and sends back their flows.
 * It ends with its parent.
 */

import { loadFlows } from "#sdk/load-flows";
import type { Registration } from "#sdk/registration";

/** A flow as it is registered with the server. */
export type FlowRegistration = Registration;

export interface ModuleRequest {
  /** Absolute path of the served directory. */
  sourceDir: string;
  /** Path below it, with forward slashes. */
  module: string;
}

export interface LoadedModule {
  flows: FlowRegistration[];
  error: string | null;
}

process.on("disconnect", () => process.exit());
process.on("message", async ({ sourceDir, module }: ModuleRequest) => {
  const { flows, error } = await loadFlows(sourceDir, module);
  const loaded: LoadedModule = { flows: flows.map((flow) => flow.registration), error };
  process.send?.(loaded);
});
