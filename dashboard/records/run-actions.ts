/** Actions on runs; only those that cannot be undone ask for confirmation. */
import { signal } from "@preact/signals";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { ask, messageOf } from "../api/client.ts";
import { counted, listed } from "../format/number.ts";
import { askBack } from "../parts/dialog.tsx";
import { showToast } from "../parts/toast.tsx";
import { navigate } from "../router/router.ts";

/** Runs whose deletion can still be undone: lists hide them. */
export const leaving = signal<ReadonlySet<number>>(new Set());

function leave(ids: readonly number[], leaves: boolean): void {
  const next = new Set(leaving.value);
  for (const id of ids) leaves ? next.add(id) : next.delete(id);
  leaving.value = next;
}

/** The fields of a run that actions need. */
export type RunInHand = Pick<Run, "id" | "name" | "state">;

export function isActive(run: RunInHand): boolean {
  return !isTerminal(run.state.type) && run.state.type !== "Cancelling";
}

/** Sends one request per run and reports the failures. */
async function each(runs: readonly RunInHand[], done: string, act: (run: RunInHand) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(runs.map(act));
  const failed = results.filter((result) => result.status === "rejected");
  if (failed.length === 0) showToast(`${counted(runs.length, "run")} ${done}.`);
  else showToast(`${failed.length} of ${counted(runs.length, "run")} not ${done}: ${messageOf(failed[0]?.reason)}.`);
}

function namesOf(runs: readonly RunInHand[]): string {
  const names = runs.slice(0, 3).map(({ name }) => name);
  return listed(runs.length > 3 ? [...names, `${runs.length - 3} more`] : names);
}

/** Whether the run has left its engine until a time that a person may bring forward. */
export function canWake({ state }: RunInHand): boolean {
  return (state.name === "Sleeping" || state.name === "AwaitingRetry") && typeof state.details?.["wake_at"] === "number";
}

/** Ends the sleep, or the delay before the next attempt, of a run now. */
export function wake(run: RunInHand): void {
  void each([run], "woken", ({ id }) => ask(`/api/runs/${id}/wake`, { method: "POST" }));
}

/** Cancels the active runs among these, after a confirmation. */
export function cancelRuns(runs: readonly RunInHand[]): void {
  const active = runs.filter(isActive);
  if (active.length === 0) return;
  const what = active.length === 1 ? "run" : "runs";
  askBack({
    title: active.length === 1 ? `Cancel ${active[0]?.name}?` : `Cancel ${active.length} runs?`,
    body: `${namesOf(active)}: asked to stop, and killed if they do not. What they have already written stays. A cancelled run cannot be resumed; it can be run again.`,
    confirm: `Cancel ${active.length} ${what}`,
    keep: "Keep running",
    act: () => void each(active, "cancelled", ({ id }) => ask(`/api/runs/${id}/cancel`, { method: "POST" })),
  });
}

/** Deletes runs when the toast ends; until then the deletion can be undone. */
export function deleteRuns(runs: readonly Run[]): void {
  const ids = runs.map(({ id }) => id);
  leave(ids, true);
  showToast(`${counted(runs.length, "run")} deleted, with logs and artifacts.`, {
    undo: () => leave(ids, false),
    commit: () => {
      const sent = ids.map((id) => ask(`/api/runs/${id}`, { method: "DELETE", keepalive: true }));
      Promise.allSettled(sent).then((results) => {
        const failed = results.find((result) => result.status === "rejected");
        if (failed === undefined) return;
        leave(ids, false);
        showToast(`Not every run was deleted: ${messageOf(failed.reason)}.`);
      });
    },
  });
}

/**
 * Runs the run again and opens the new one: with the same parameters, which makes it a retry of the run, or with others.
 * @throws ApiError when the server refuses
 */
export async function rerun(run: Run, parameters: Readonly<Record<string, unknown>> | null): Promise<void> {
  const made =
    parameters === null
      ? await ask<Run>(`/api/runs/${run.id}/retry`, { method: "POST" })
      : await ask<Run>(`/api/flows/${run.flow_id}/runs`, { method: "POST", body: { parameters, tags: run.tags ?? [] } });
  open(made);
}

/** Runs a durable run again from one of its tasks and opens the new run, which keeps the results of the tasks before that one. */
export function rerunFrom(run: Run, task: string): void {
  ask<Run>(`/api/runs/${run.id}/retry`, { method: "POST", body: { from: task } }).then(open, (cause: unknown) =>
    showToast(`Not run again: ${messageOf(cause)}.`),
  );
}

function open(made: Run): void {
  showToast(`${made.name} runs ${made.flow_name} again.`);
  navigate(`/runs/${made.id}`);
}
