/** Work items that are not runs: crash hooks and bulk-completion checks. */
import type { WorkItem } from "#protocol/records/engine";
import { systemClock } from "../execution/clock.ts";
import { describeFailure } from "../execution/failure.ts";
import type { RunChannel } from "./run-channel.ts";
import { RunControl, type RunControlOptions } from "./run-control.ts";
import type { ServerApi } from "./server-api.ts";
import type { ThreadKeeper } from "./thread-keeper.ts";

/** Executes a work item that is not a run. */
export async function doJob(
  api: ServerApi,
  channel: RunChannel,
  keeper: ThreadKeeper,
  item: WorkItem,
  options: RunControlOptions,
): Promise<void> {
  if (item.kind === "hooks") await runCrashHook(channel, keeper, item, options);
  else if (item.kind === "bulk_complete") await answerBulkCheck(api, keeper, item, options.complain);
  else options.complain(`a work item of an unknown kind is passed over: ${String(item.kind)}`);
}

/** Job `hooks`: the hook of a run whose engine died. No answer is expected. */
async function runCrashHook(
  channel: RunChannel,
  keeper: ThreadKeeper,
  item: WorkItem,
  options: RunControlOptions,
): Promise<void> {
  if (!keeper.find(item.project, item.flow)?.hooks.includes("Crashed")) return;
  const state = { type: "Crashed", name: "Crashed", timestamp: systemClock.nowUs(), message: null, details: {} } as const;
  await new RunControl(channel, keeper, item, options).executeHook(state);
}

/**
 * Job `bulk_complete`: which values of a backfill are already done. The backfill's runs wait for the answer, so there is always
 * one: if the check fails, no value counts as done.
 */
async function answerBulkCheck(api: ServerApi, keeper: ThreadKeeper, item: WorkItem, complain: Complain): Promise<void> {
  const backfillId = Number(item.payload?.["backfill_id"]);
  let skip: string[] = [];
  try {
    skip = await doneValues(api, keeper, item, backfillId);
  } catch (error) {
    complain(`bulkComplete of ${item.project}/${item.flow}: ${describeFailure(error).message}`);
  }
  await api.post(`/api/backfills/${backfillId}/prefilter`, { skip });
}

async function doneValues(api: ServerApi, keeper: ThreadKeeper, item: WorkItem, backfillId: number): Promise<string[]> {
  const { parameter } = (await api.get(`/api/backfills/${backfillId}`)) as { parameter: string };
  const values: string[] = [];
  for (let cursor: number | null = 0; cursor !== null; ) {
    const query: string = `backfill_id=${backfillId}&limit=${PAGE}&sort=created_asc${cursor === 0 ? "" : `&cursor=${cursor}`}`;
    const page = (await api.get(`/api/runs?${query}`)) as ValuePage;
    for (const { parameters } of page.items) values.push(String(parameters[parameter]));
    cursor = page.next_cursor;
  }
  const { project, flow } = item;
  const done = await keeper.thread.answered<string[]>(keeper.thread.api.bulkComplete({ project, flow }, values));
  if (!Array.isArray(done)) throw new Error(done.cause);
  return done;
}

interface ValuePage {
  items: { parameters: Record<string, unknown> }[];
  next_cursor: number | null;
}

/** Runs per page, the server's maximum. */
const PAGE = 500;

type Complain = RunControlOptions["complain"];
