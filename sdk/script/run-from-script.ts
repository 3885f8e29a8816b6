/** A flow called in a script: a run of its own. */
import type { CreateRun, Millrace, Run } from "../client/index.ts";
import type { FlowDefinition } from "../define/flow.ts";
import type { StartOptions } from "../execution/started-run.ts";
import { servedElsewhere } from "../modules/served-elsewhere.ts";
import { executeHere } from "./execute-here.ts";
import { followRun } from "./follow-run.ts";
import { withHomeServer } from "./home-server.ts";
import { placeOf } from "./place-of.ts";
import { RunError } from "./run-error.ts";

/**
 * Creates the run and waits for its end; without a server, this process executes the run.
 * @returns the function's return value: the value itself, or its JSON form if an engine executed the run
 * @throws ParameterError before anything is stored; RunError for every end but Completed
 */
export async function runFromScript(
  definition: FlowDefinition,
  parameters: Record<string, unknown>,
  { name, tags, idempotencyKey, signal }: StartOptions = {},
): Promise<unknown> {
  await definition.checker.prepare(parameters);
  return await withHomeServer(async ({ client, local }) => {
    const served = local === null ? (await client.server()).served_dir : null;
    const registration = placeOf(definition, served);
    const refused = local === null ? await servedElsewhere(client, registration) : null;
    if (refused !== null) throw new Error(refused);
    // The option types of SDK and protocol describe the same record.
    const run = { ...registration, name, tags, parameters, created_by: "script" } as CreateRun;
    const created = await client.runs.create(run, { idempotencyKey, signal });
    const stop = cancelOnInterrupt(client, created.id);
    try {
      if (local === null) return await resultOf(created, client);
      const registrationOfChild = (child: FlowDefinition) => placeOf(child, served);
      return await executeHere({ client, send: local, definition, registrationOf: registrationOfChild, run: created });
    } finally {
      stop();
    }
  });
}

async function resultOf({ id }: Run, client: Millrace): Promise<unknown> {
  const { run, result } = await followRun(client, id);
  if (run.state.type === "Completed") return result;
  throw new RunError(run);
}

/** The first Ctrl-C cancels the run, the second ends the script. */
function cancelOnInterrupt(client: Millrace, runId: number): () => void {
  const cancel = (): void => {
    process.stderr.write(`millrace: cancelling run ${runId}; Ctrl-C again ends the script\n`);
    client.runs.cancel(runId).catch((error: unknown) => process.stderr.write(`millrace: ${String(error)}\n`));
  };
  process.once("SIGINT", cancel);
  return () => process.off("SIGINT", cancel);
}
