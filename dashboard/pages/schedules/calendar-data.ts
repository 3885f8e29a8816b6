/** The data of the calendar: for each schedule the runs of past and future fires, and fires without a run. */
import type { FlowSummary } from "#protocol/records/flow";
import type { ScheduleRow } from "#protocol/records/schedule";
import type { ScheduleFires, ScheduleRuns } from "#protocol/records/schedule-calendar";
import { lookOf, type StateLook } from "../../state/look.ts";

export interface Mark {
  time: number;
  /** Number of runs; 0 for a fire without a run. */
  count: number;
  glyph: string;
  token: string;
  text: string;
  href: string | null;
  wrong: boolean;
  /** No run exists yet, or the fire was skipped. */
  kind: "run" | "projected" | "skipped";
  /** The mark stands for all fires of its hour. */
  hour: boolean;
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
  const marks = runs.filter(([, time]) => time <= nowUs).map((run) => runMark(run, run[1], run[2]));
  // Runs of the look-ahead are counted by the hour, their fires are listed one by one.
  const coming = runs.filter(([, time]) => time > nowUs && !skipped.has(time)).map((run) => ({ run, left: run[2] }));
  for (const time of fires?.fires ?? []) {
    const made = coming.find(({ run, left }) => left > 0 && hourOf(run[1]) === hourOf(time));
    if (skipped.has(time)) marks.push(fireMark(time, "skipped"));
    else if (made === undefined) marks.push(fireMark(time, "projected"));
    else {
      made.left -= 1;
      marks.push(runMark(made.run, time, 1));
    }
  }
  for (const time of fires?.more_hours ?? []) marks.push(hourMark(time));
  for (const { run, left } of coming) if (left > 0) marks.push(runMark(run, run[1], left));
  return marks.sort((a, b) => a.time - b.time);
}

function hourOf(us: number): number {
  return Math.floor(us / 3_600_000_000);
}

/** Some of the runs of one entry, at one of their times. */
function runMark([schedule, , told, type, name, run]: ScheduleRuns, time: number, count: number): Mark {
  const look: StateLook = lookOf({ type, name });
  const wrong = type === "Failed" || type === "Crashed";
  const href = told === 1 ? `/runs/${run}` : `/runs?schedule=${schedule}&state=${name}`;
  const text = count === 1 ? look.word : `${look.word}, ${count} runs within the hour`;
  return { time, count, glyph: look.token, token: look.token, text, href, wrong, kind: "run", hour: count > 1 };
}

function fireMark(time: number, kind: "projected" | "skipped"): Mark {
  const glyph = kind === "skipped" ? "skipped-fire" : "projected";
  const text = kind === "skipped" ? "Skipped by a person" : "Projected, no run yet";
  return {
    time,
    count: kind === "skipped" ? 1 : 0,
    glyph,
    token: "scheduled",
    text,
    href: null,
    wrong: false,
    kind,
    hour: false,
  };
}

/** For many fires only the hours are listed. */
function hourMark(time: number): Mark {
  return { ...fireMark(time, "projected"), text: "Projected, as all fires of this hour", hour: true };
}
