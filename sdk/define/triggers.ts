/**
 * `flow.start`, `flow.startMany` and `flow.runAndWait`: runs of their own. In the function of a durable flow they are its children,
 * so that they are started once however often the function begins again; elsewhere they are requests to the server.
 */
import { never } from "../durable/suspension.ts";
import { currentScope, isLeftBehind } from "../execution/active-run.ts";
import { shared } from "../execution/shared-state.ts";
import type { StartedFlow, StartedRun, StartOptions, Triggers } from "../execution/started-run.ts";

type Parameters = Record<string, unknown>;

/** What happens outside of a run; given by flow.ts, whose types it needs. */
interface Outside {
  start(items: readonly Parameters[], options: StartOptions): Promise<StartedRun<unknown>[]>;
  runHere(parameters: Parameters, options: StartOptions): Promise<unknown>;
}

/** @param flow what flow() returns for the definition */
export function triggersOf(
  definition: StartedFlow,
  flow: () => Promise<unknown>,
  outside: Outside,
): Triggers<Parameters, unknown> {
  const start = async (items: readonly Parameters[], options: StartOptions): Promise<StartedRun<unknown>[]> => {
    if (isLeftBehind()) return await never();
    const scope = currentScope();
    if (scope === undefined && shared.suppressed !== null)
      throw new Error(`flow "${definition.name}" starts no run while its file is imported (${shared.suppressed})`);
    if (scope !== undefined && scope.run.durable !== null && scope.task === null)
      return await Promise.all(items.map((parameters) => startChild(flow, parameters, options)));
    for (const parameters of items) await definition.checker.prepare(parameters);
    if (items.length === 0) return [];
    if (scope !== undefined) return await scope.run.services.start(scope.run, definition, items, options);
    return await outside.start(items, options);
  };
  const one = async (parameters: Parameters = {}, options: StartOptions = {}): Promise<StartedRun<unknown>> => {
    const [started] = await start([parameters], options);
    if (started === undefined) throw new Error(`no run of flow "${definition.name}" was created`);
    return started;
  };
  return {
    start: one,
    startMany: (items, options = {}) => start(items, options),
    runAndWait: async (parameters = {}, options = {}) => {
      const served = currentScope() !== undefined || shared.served || options.client !== undefined;
      // A script without a server executes the run itself, as for a plain call.
      if (!served && shared.suppressed === null && !isLeftBehind()) {
        return await outside.runHere(parameters, options);
      }
      return await (await one(parameters, options)).result();
    },
  };
}

/** The child outlives the run, as a run that a request starts does. */
async function startChild(
  flow: () => Promise<unknown>,
  parameters: Parameters,
  { tags, idempotencyKey: key }: StartOptions,
): Promise<StartedRun<unknown>> {
  // The module needs flow.ts, which needs this one.
  const { child } = await import("../durable/child.ts");
  const options = {
    onParentEnd: "leave" as const,
    ...(tags === undefined ? {} : { tags }),
    ...(key === undefined ? {} : { key }),
  };
  return await child<[parameters?: object], unknown>(flow, parameters, options).start();
}
