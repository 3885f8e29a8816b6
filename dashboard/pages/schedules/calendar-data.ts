/** What the calendar shows: for each schedule the runs of its past and coming fires, and the fires that are only computed. */
import type { FlowSummary } from "#protocol/flow";
import type { ScheduleRow } from "#protocol/schedule";
import type { ScheduleFires, ScheduleRuns } from "#protocol/schedule-calendar";
import { lookOf, type StateLook } from "../../state/look.ts";

export interface Mark {
  time: number;
  /** Runs that it stands for; 0 for a fire without a run. */
  count: number;
  glyph: string;
  token: string;
  text: string;
  href: string | null;
  wrong: boolean;
  /** No run exists yet, or the fire was skipped. */
  kind: "run" | "projected" | "skipped";
}

export interface Line {
  schedule: ScheduleRow;
  flow: FlowSummary;
  marks: readonly Mark[];
}

export function linesOf(
  flows: readonly FlowSummary[],
  runs: readonly ScheduleRuns[],
  fires: readonly ScheduleFires[],
  nowUs: number,
): Line[] {
  const bySchedule = Map.groupBy(runs, ([schedule]) => schedule);
  const ahead = new Map(fires.map((each) => [each.schedule_id, each]));
  return flows.flatMap((flow) =>
    flow.schedules.map((schedule): Line => {
      const marks = marksOf(bySchedule.get(schedule.id) ?? [], ahead.get(schedule.id) ?? null, nowUs);
      return { schedule, flow, marks };
    }),
  );
}

function marksOf(runs: readonly ScheduleRuns[], fires: ScheduleFires | null, nowUs: number): Mark[] {
  const skipped = new Set(fires?.skipped.map(({ fire }) => fire));
  const marks = runs.filter(([, time]) => time <= nowUs || !skipped.has(time)).map(runMark);
  // Runs of the look-ahead are counted by the hour: their fires are not told twice.
  const known = new Map<number, number>();
  for (const [, time, count] of runs) if (time > nowUs) known.set(hourOf(time), (known.get(hourOf(time)) ?? 0) + count);
  for (const time of fires?.fires ?? []) {
    if (skipped.has(time)) marks.push(fireMark(time, "skipped"));
    else if ((known.get(hourOf(time)) ?? 0) > 0) known.set(hourOf(time), (known.get(hourOf(time)) ?? 0) - 1);
    else marks.push(fireMark(time, "projected"));
  }
  return marks.sort((a, b) => a.time - b.time);
}

function hourOf(us: number): number {
  return Math.floor(us / 3_600_000_000);
}

function runMark([schedule, time, count, type, name, run]: ScheduleRuns): Mark {
  const look: StateLook = lookOf({ type, name });
  const wrong = type === "Failed" || type === "Crashed";
  const href = count === 1 ? `/runs/${run}` : `/runs?schedule=${schedule}&state=${name}`;
  const text = count === 1 ? look.word : `${look.word}, ${count} runs`;
  return { time, count, glyph: look.token, token: look.token, text, href, wrong, kind: "run" };
}

function fireMark(time: number, kind: "projected" | "skipped"): Mark {
  const glyph = kind === "skipped" ? "skipped-fire" : "projected";
  const text = kind === "skipped" ? "Skipped by a person" : "Projected, no run yet";
  return { time, count: kind === "skipped" ? 1 : 0, glyph, token: "scheduled", text, href: null, wrong: false, kind };
}
