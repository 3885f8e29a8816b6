/** Marks of the calendar: future runs are shown at their own fires, although the server counts them by the hour. */
import t from "tap";
import type { FlowSummary } from "#protocol/records/flow";
import type { ScheduleFires, ScheduleRuns } from "#protocol/records/schedule-calendar";
import { linesOf } from "../../../dashboard/pages/schedules/calendar-data.ts";

const HOUR = 3_600_000_000;
const MINUTE = 60_000_000;
const NOW = 100 * HOUR;
const flows = [{ schedules: [{ id: 7 }] }] as unknown as FlowSummary[];

function marks(runs: ScheduleRuns[], fires: number[], skipped: number[] = []) {
  const ahead = { schedule_id: 7, fires, skipped: skipped.map((fire) => ({ fire })) } as unknown as ScheduleFires;
  const [line] = linesOf(flows, runs, [ahead], NOW);
  return line?.marks.map(({ time, count, kind, href }) => [(time - NOW) / MINUTE, count, kind, href]);
}

t.test("two runs of an hour stand at its first two fires, the others are projected", async (t) => {
  const fires = [15, 30, 45, 75].map((minutes) => NOW + minutes * MINUTE);
  t.same(marks([[7, NOW + 30 * MINUTE, 2, "Scheduled", "Scheduled", 12]], fires), [
    [15, 1, "run", "/runs?schedule=7&state=Scheduled"],
    [30, 1, "run", "/runs?schedule=7&state=Scheduled"],
    [45, 0, "projected", null],
    [75, 0, "projected", null],
  ]);
});

t.test("a run that is alone is linked, a skipped fire has none", async (t) => {
  const [first, second] = [NOW + 15 * MINUTE, NOW + 30 * MINUTE];
  t.same(marks([[7, second, 1, "Scheduled", "Scheduled", 12]], [first, second], [first]), [
    [15, 1, "skipped", null],
    [30, 1, "run", "/runs/12"],
  ]);
});

t.test("runs that happened, and coming ones of no known fire, stay as they are told", async (t) => {
  const past: ScheduleRuns = [7, NOW - HOUR, 4, "Completed", "Completed", 3];
  const held: ScheduleRuns = [7, NOW + HOUR, 2, "Scheduled", "Scheduled", 12];
  t.same(marks([past, held], []), [
    [-60, 4, "run", "/runs?schedule=7&state=Completed"],
    [60, 2, "run", "/runs?schedule=7&state=Scheduled"],
  ]);
});
