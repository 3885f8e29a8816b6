/** Actions on schedules. A deletion is sent when its toast ends. */
import { signal } from "@preact/signals";
import type { ScheduleRow, SkipResponse } from "#protocol/records/schedule";
import { ask, messageOf } from "../../api/client.ts";
import { counted, listed } from "../../format/number.ts";
import { showToast } from "../../parts/toast.tsx";

/** Schedules whose deletion can still be undone. */
export const leavingSchedules = signal<ReadonlySet<number>>(new Set());

function leave(id: number, leaves: boolean): void {
  const next = new Set(leavingSchedules.value);
  if (leaves) next.add(id);
  else next.delete(id);
  leavingSchedules.value = next;
}

async function attempt(what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (cause) {
    showToast(`${what}: ${messageOf(cause)}.`);
  }
}

/** Pauses or resumes a schedule. Existing runs continue. */
export function setActive({ id, active }: ScheduleRow): Promise<void> {
  const verb = active ? "pause" : "resume";
  return attempt(`Not ${verb}d`, async () => {
    await ask(`/api/schedules/${id}/${verb}`, { method: "POST" });
    showToast(active ? "Schedule paused. Its runs go on." : "Schedule resumed.", {
      undo: () => void ask(`/api/schedules/${id}/${active ? "resume" : "pause"}`, { method: "POST" }),
    });
  });
}

export function removeSchedule({ id }: ScheduleRow): void {
  leave(id, true);
  showToast("Schedule deleted, with the runs it had planned.", {
    undo: () => leave(id, false),
    commit: () =>
      void attempt("The schedule was not deleted", () => ask(`/api/schedules/${id}`, { method: "DELETE", keepalive: true })).then(
        () => leave(id, false),
      ),
  });
}

export function skipFires({ id }: ScheduleRow, fires: readonly number[]): Promise<void> {
  return attempt("Nothing was skipped", async () => {
    const done = await ask<SkipResponse>(`/api/schedules/${id}/skips`, { method: "POST", body: { fires, by: "ui" } });
    const also = done.downstream.map(({ flow }) => flow);
    const text = `${counted(done.skipped.length, "fire")} skipped${also.length > 0 ? `; downstream ${listed(also)} too` : ""}.`;
    showToast(text, { undo: () => void undoAll(id, done.skipped) });
  });
}

function undoAll(id: number, fires: readonly number[]): Promise<void> {
  return attempt("Not every skip was taken back", async () => {
    for (const fire of fires) await ask(`/api/schedules/${id}/skips/${fire}`, { method: "DELETE" });
  });
}

export function undoSkip({ id }: ScheduleRow, fire: number): Promise<void> {
  return attempt("The skip was not taken back", async () => {
    await ask(`/api/schedules/${id}/skips/${fire}`, { method: "DELETE" });
    showToast("The fire runs again.");
  });
}
