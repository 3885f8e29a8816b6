/** Starts runs of flows by requests: from runs, and from scripts, rules, routes and clients. */
import { randomUUID } from "node:crypto";
import { MillraceError } from "../client/error.ts";
import type { CreateRun, EndedRun, Millrace } from "../client/index.ts";
import type { FlowDefinition } from "../define/flow.ts";
import { patiently } from "../execution/patience.ts";
import { shared } from "../execution/shared-state.ts";
import type { StartedFlow, StartedRun, StartingRun, StartOptions } from "../execution/started-run.ts";
import { servedElsewhere } from "../modules/served-elsewhere.ts";
import { withHomeServer } from "./home-server.ts";
import { placeOf } from "./place-of.ts";
import { RunError } from "./run-error.ts";

type Items = readonly Record<string, unknown>[];
type Place = Pick<CreateRun, "flow" | "project"> & Partial<CreateRun>;

const NOT_FOUND = 404;
const CONFLICT = 409;
/** What a run is created by that repeats another one. */
const REPEATS = /^(?:crash|retry):(\d+)$/;

/** From the code of a run: the flow is one of the run's project. While the server is away, the requests wait for it. */
export async function startFromRun(
  connect: () => Promise<Millrace>,
  run: StartingRun,
  flow: StartedFlow,
  items: Items,
  options: StartOptions,
): Promise<StartedRun<unknown>[]> {
  // Only flow() makes them.
  const definition = flow as FlowDefinition;
  const client = await connect();
  const signals = [run.controller.signal, ...(options.signal === undefined ? [] : [options.signal])];
  const given = { ...options, idempotencyKey: options.idempotencyKey ?? randomUUID(), signal: AbortSignal.any(signals) };
  const known: Place = { flow: definition.name, project: definition.project ?? run.project };
  const createAs = (place: Place, id: number) =>
    patiently(() => createRuns(client, place, items, { ...given, createdBy: `run:${id}` }), given.signal);
  const create = (place: Place) =>
    options.idempotencyKey === undefined ? createAs(place, run.id) : createOnce(client, run, (id) => createAs(place, id));
  const ids = await create(known).catch(async (error: unknown) => {
    // No server has seen the flow: it is registered with its first run.
    if (!(error instanceof MillraceError && error.status === NOT_FOUND)) throw error;
    return await create({ ...(await placed(client, definition)), project: known.project });
  });
  const wait = { signal: given.signal, reruns: true };
  return ids.map((id) => startedRun(id, () => patiently(() => client.waitFor(id, wait), given.signal)));
}

/**
 * With a key of its own, a run that repeats another one gets the runs that the other one has started. A request is the same for the
 * server only if it names the same creator.
 * @param createAs makes the request as the code of this run
 */
async function createOnce<T>(client: Millrace, run: StartingRun, createAs: (id: number) => Promise<T>): Promise<T> {
  try {
    return await createAs(run.id);
  } catch (mismatch) {
    if (!isConflict(mismatch)) throw mismatch;
    for (let by = run.origin.createdBy; ; ) {
      const [, earlier] = REPEATS.exec(by) ?? [];
      if (earlier === undefined) throw mismatch;
      try {
        return await createAs(Number(earlier));
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      by = await patiently(() => creatorOf(client, Number(earlier)), run.controller.signal);
    }
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof MillraceError && error.status === CONFLICT;
}

/** Empty for a run that was deleted. */
async function creatorOf(client: Millrace, id: number): Promise<string> {
  try {
    return (await client.runs.get(id)).created_by ?? "";
  } catch (error) {
    if (error instanceof MillraceError && error.status === NOT_FOUND) return "";
    throw error;
  }
}

/** From code outside of a run. Without a server, the runs wait in the home for one. */
export async function startFromOutside(
  definition: FlowDefinition,
  items: Items,
  options: StartOptions,
): Promise<StartedRun<unknown>[]> {
  const { client: given, signal } = options;
  const withClient = async <T>(work: (client: Millrace) => Promise<T>): Promise<T> =>
    given === undefined ? await withHomeServer(({ client }) => work(client)) : await work(given);
  const createdBy = shared.served ? "code" : "script";
  const ids = await withClient(async (client) =>
    createRuns(client, await placed(client, definition), items, { ...options, createdBy }),
  );
  return ids.map((id) => startedRun(id, () => withClient((client) => client.waitFor(id, { signal, reruns: true }))));
}

/** Where engines find the flow. @throws Error for a flow that the server serves from another file */
async function placed(client: Millrace, definition: FlowDefinition): Promise<Place> {
  const place = placeOf(definition, (await client.server()).served_dir);
  const refused = await servedElsewhere(client, place);
  if (refused !== null) throw new Error(refused);
  // The option types of SDK and protocol describe the same record.
  return place as Place;
}

async function createRuns(
  client: Millrace,
  place: Place,
  items: Items,
  { name, tags, createdBy, idempotencyKey, signal }: StartOptions & { createdBy: string },
): Promise<number[]> {
  const common = { ...place, created_by: createdBy, ...(tags === undefined ? {} : { tags: [...tags] }) };
  const sent = { idempotencyKey, signal };
  const [parameters, ...others] = items;
  if (others.length === 0) return [(await client.runs.create({ ...common, name, parameters }, sent)).id];
  const runs = await client.runs.createMany(
    items.map((each) => ({ parameters: each })),
    { ...sent, defaults: common },
  );
  return runs.map(({ id }) => id);
}

function startedRun(id: number, ended: () => Promise<EndedRun>): StartedRun<unknown> {
  const result = async (): Promise<unknown> => {
    const { run, result } = await ended();
    if (run.state.type === "Completed") return result;
    throw new RunError(run);
  };
  return { id, result };
}
