import type { WorkItem } from "#protocol/engine";
import { systemClock } from "../clock.ts";
import { RunControl, type RunControlOptions } from "./run-control.ts";
import type { ServerApi } from "./server-api.ts";
import type { ThreadKeeper } from "./thread-keeper.ts";

/** Answers a work item that is no run. */
export async function doJob(api: ServerApi, keeper: ThreadKeeper, item: WorkItem, options: RunControlOptions): Promise<void> {
  if (item.kind === "hooks") await runCrashHook(api, keeper, item, options);
  else if (item.kind === "bulk_complete") await answerBulkCheck(api, item);
  else options.complain(`a work item of an unknown kind is passed over: ${String(item.kind)}`);
}

/** Job `hooks`: the hook of a run whose engine died. No answer is expected. */
async function runCrashHook(api: ServerApi, keeper: ThreadKeeper, item: WorkItem, options: RunControlOptions): Promise<void> {
  if (!keeper.find(item.project, item.flow)?.hooks.includes("Crashed")) return;
  const state = { type: "Crashed", name: "Crashed", timestamp: systemClock.nowUs(), message: null, details: {} } as const;
  await new RunControl(api, keeper, item, options).executeHook(state);
}

/**
 * Job `bulk_complete`: which values of a backfill are done already. Flows declare no such check,
 * so none is; the answer releases the backfill's runs.
 */
async function answerBulkCheck(api: ServerApi, item: WorkItem): Promise<void> {
  const backfillId = Number(item.payload?.["backfill_id"]);
  await api.get(`/api/backfills/${backfillId}`);
  await api.post(`/api/backfills/${backfillId}/prefilter`, { skip: [] });
}
