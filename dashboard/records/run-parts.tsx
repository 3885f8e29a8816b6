/** Parts of a run that several pages show: its duration against the usual one, its creator, its flow. */
import type { JSX } from "preact";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { duration, tickingDuration } from "../format/duration.ts";
import { now, nowUs } from "../format/now.ts";
import { PAGES } from "../pages/pages.ts";
import { lookOf } from "../state/look.ts";

/** Duration of a run: so far while it runs, null if it never started. Reads the ticking clock for running runs. */
export function runTime(run: Run): number | null {
  if (run.start_time === null || run.start_time === undefined) return null;
  if (isTerminal(run.state.type)) return run.total_run_time ?? (run.end_time ?? run.state.timestamp) - run.start_time;
  const us = run.state.type === "Running" ? now.value * 1000 : nowUs();
  return Math.max(0, us - run.start_time);
}

/** Beyond twice the usual time the tick stays in the middle. */
const TICK_MIDDLE = 2;

/** A bar, a tick at the usual time, and the figure. */
export function DurationBar({ run, typical }: { run: Run; typical: number | null }): JSX.Element | null {
  const us = runTime(run);
  if (us === null) return null;
  const ended = isTerminal(run.state.type);
  const figure = <span>{ended ? duration(us) : tickingDuration(us)}</span>;
  if (typical === null || typical <= 0) return <span class="duration">{figure}</span>;
  const scale = Math.max(typical * TICK_MIDDLE, us);
  return (
    <span class="duration">
      <span class={`meter s-${lookOf(run.state).token}`} title={`Typical: ${duration(typical)}`} aria-hidden="true">
        <i style={{ width: `${(us / scale) * 100}%` }} />
        <u style={{ left: `${(typical / scale) * 100}%` }} />
      </span>
      {figure}
    </span>
  );
}

/** "project / flow"; the project may shrink first. */
export function FlowName({ run }: { run: Pick<Run, "project" | "flow_name"> }): JSX.Element {
  return (
    <span class="flow-name" title={`${run.project} / ${run.flow_name}`}>
      <span class="project">
        {run.project}
        <span class="faint">{"\u2009/\u2009"}</span>
      </span>
      <span class="cut name">{run.flow_name}</span>
    </span>
  );
}

/** The creator of a run: "schedule 31", "rule 4", "backfill 7", a name. */
export function creatorOf(run: Run): string {
  const by = run.created_by ?? "";
  if (run.schedule_id !== null && run.schedule_id !== undefined) return `schedule ${run.schedule_id}`;
  const made = /^(rule|backfill|schedule|run):(\d+)$/.exec(by);
  if (made !== null) return `${made[1]} ${made[2]}`;
  return by.replace(/^mcp:/, "agent ");
}

/** The page of a run's creator, or null. */
export function creatorAddress(run: Run): string | null {
  if (run.schedule_id !== null && run.schedule_id !== undefined)
    return "schedules" in PAGES ? `/schedules?schedule=${run.schedule_id}` : null;
  const made = /^(rule|backfill|run):(\d+)$/.exec(run.created_by ?? "");
  if (made === null) return null;
  const [, kind = "", id = ""] = made;
  return kind in PAGES ? `/${kind}s/${id}` : null;
}
