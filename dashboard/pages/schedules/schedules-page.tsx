/** Schedules: a calendar of past and future fires; skipping, pausing, creating and editing. */
import type { JSX } from "preact";
import type { ScheduleRuns } from "#protocol/records/schedule-calendar";
import { withQuery } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { dayNumber, daysFrom, mondayOf } from "../../format/calendar.ts";
import { now } from "../../format/now.ts";
import { day, zoneName } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { PageTitle, Segments } from "../../parts/layout.tsx";
import { useNarrow } from "../../parts/media.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { useFires } from "../../records/fires.ts";
import { useFlows } from "../../records/flows.ts";
import { param, setParams, stepParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { Agenda, Calendar } from "./calendar.tsx";
import { type Line, linesOf } from "./calendar-data.ts";
import { leavingSchedules } from "./schedule-actions.ts";
import { ScheduleForm } from "./schedule-form.tsx";
import { SidePanel } from "./side-panel.tsx";
import "./schedules.css";

const MINUTE_MS = 60_000;
/** Every quarter of an hour for a week; for later times the server lists the hours in which a schedule fires. */
const FIRES_OF_A_SCHEDULE = 700;
/** The agenda lists runs one by one up to one fire in five minutes. */
const EACH_PER_HOUR = 12;
const VIEWS = { day: 1, week: 7, agenda: 7 } as const;
type View = keyof typeof VIEWS;
/** In a narrow window every view is a list. */
const VIEWS_NARROW = [
  ["day", "Day"],
  ["week", "Week"],
] as const;
const VIEWS_WIDE = [...VIEWS_NARROW, ["agenda", "Agenda"]] as const;

/** The shown days, from the address: a view, and its distance from today in lengths of the view. */
function usePeriod(narrow: boolean) {
  const view: View = param("view") in VIEWS ? (param("view") as View) : "week";
  const away = Math.trunc(Number(param("away"))) || 0;
  const length = VIEWS[view];
  const today = dayNumber(now.value * 1000);
  // A list that began with past days would push today out of view.
  const first = (view === "week" && !narrow ? mondayOf(today) : today) + away * length;
  const go = (step: number) => () => stepParams({ away: step === 0 ? null : String(away + step) });
  return { view, days: daysFrom(first, length), go };
}

export function Page(): JSX.Element {
  const narrow = useNarrow();
  const { view, days, go } = usePeriod(narrow);
  const agenda = narrow || view === "agenda";
  const from = days[0]?.from ?? 0;
  const to = days.at(-1)?.to ?? 0;
  const flows = useFlows();
  const runs = useQuery<ScheduleRuns[]>(
    withQuery("/api/schedules/runs", { after: from, before: to, each: agenda ? EACH_PER_HOUR : null }),
    {
      live: { "run.updated": (run) => "deleted" in run || run.schedule_id !== null },
    },
  );
  const fires = useFires(FIRES_OF_A_SCHEDULE, Math.max(to, now.peek() * 1000));
  const nowUs = Math.floor(now.value / MINUTE_MS) * MINUTE_MS * 1000;
  const lines = linesOf(flows.data ?? [], runs.data ?? [], fires.data ?? [], nowUs).filter(
    ({ schedule }) => !leavingSchedules.value.has(schedule.id),
  );
  const chosen = lines.find(({ schedule }) => String(schedule.id) === param("schedule")) ?? null;
  useScheduleKeys(lines, chosen, go);
  const failed = [flows, runs, fires].find(({ error }) => error !== null);
  return (
    <>
      <PageTitle title="Schedules" actions={<Actions {...{ view, narrow, go }} />} />
      <div class="row wrap sub">
        <b class="ink">{view === "day" ? day(from) : `${day(from)} to ${day(to - 1)}`}</b>
        <span>Times in {zoneName()}</span>
        <Legend />
      </div>
      {failed?.error && <Failure what="Part of the calendar" error={failed.error} again={() => failed.refresh()} />}
      <Form flows={flows.data ?? []} lines={lines} />
      {flows.data === null && failed === undefined && <Loading rows={8} />}
      {flows.data !== null && lines.length === 0 && <NoSchedules />}
      {lines.length > 0 && (
        <div class={`calendar-wrap ${chosen === null ? "" : "with-side"}`}>
          <div>
            {agenda ? (
              <Agenda lines={lines} days={days} />
            ) : (
              <Calendar lines={lines} days={days} nowUs={nowUs} chosen={chosen?.schedule.id ?? null} />
            )}
            <p class="hint">
              Solid marks happened. Outlined marks have a run that waits. Dotted marks are computed and may change.
            </p>
          </div>
          {chosen !== null && <SidePanel line={chosen} flows={flows.data ?? []} />}
        </div>
      )}
    </>
  );
}

function Form({
  flows,
  lines,
}: {
  flows: Parameters<typeof ScheduleForm>[0]["flows"];
  lines: readonly Line[];
}): JSX.Element | null {
  const edited = lines.find(({ schedule }) => String(schedule.id) === param("edit"));
  if (flows.length === 0 || (param("new") === "" && edited === undefined)) return null;
  const flowId =
    edited?.flow.id ??
    (Number(param("new")) > 1 || flows.some(({ id }) => id === Number(param("new"))) ? Number(param("new")) : null);
  return <ScheduleForm key={edited?.schedule.id ?? "new"} flows={flows} row={edited?.schedule ?? null} flowId={flowId} />;
}

function Actions({ view, narrow, go }: { view: View; narrow: boolean; go: (step: number) => () => void }): JSX.Element {
  return (
    <>
      <Segments
        label="View"
        options={narrow ? VIEWS_NARROW : VIEWS_WIDE}
        chosen={narrow && view === "agenda" ? "week" : view}
        choose={(next: View) => stepParams({ view: next === "week" ? null : next, away: null })}
      />
      <span class="row">
        <button type="button" class="button" aria-label="Earlier" onClick={go(-1)}>
          <Glyph name="left" />
        </button>
        <button type="button" class="button" onClick={go(0)}>
          Today
        </button>
        <button type="button" class="button" aria-label="Later" onClick={go(1)}>
          <Glyph name="right" />
        </button>
      </span>
      <button type="button" class="button primary" onClick={() => setParams({ new: "flow", edit: null })}>
        {"New schedule\u2026"}
      </button>
    </>
  );
}

function useScheduleKeys(lines: readonly Line[], chosen: Line | null, go: (step: number) => () => void): void {
  const move = (step: number) => () => {
    const at = chosen === null ? -1 : lines.indexOf(chosen);
    const next = lines[Math.max(0, Math.min(lines.length - 1, at + step))];
    if (next !== undefined) setParams({ schedule: String(next.schedule.id) });
  };
  useKeys(
    [
      { keys: "j", does: "next schedule", run: move(1) },
      { keys: "k", does: "previous schedule", run: move(-1) },
      { keys: "[", does: "earlier", run: go(-1) },
      { keys: "]", does: "later", run: go(1) },
      { keys: "n", does: "new schedule", run: () => setParams({ new: "flow", edit: null }) },
      {
        keys: "s",
        does: "skip fires of the schedule",
        run: () => document.querySelector<HTMLElement>(".skip-number input")?.focus(),
      },
    ],
    { group: "Schedules" },
  );
}

function Legend(): JSX.Element {
  const entries = [
    ["completed", "completed", "Completed"],
    ["failed", "failed", "Failed"],
    ["late", "late", "Late"],
    ["scheduled", "scheduled", "Run exists, waits"],
    ["scheduled", "projected", "Projected, no run yet"],
    ["scheduled", "skipped-fire", "Skipped by a person"],
  ] as const;
  return (
    <div class="legend push wide-only">
      {entries.map(([token, glyph, word]) => (
        <span key={word} class={`s-${token}`}>
          <Glyph name={glyph} size={12} /> {word}
        </span>
      ))}
    </div>
  );
}

function NoSchedules(): JSX.Element {
  return (
    <Empty title="No schedules yet">
      <p>A flow declares its schedules in code, or gets one here.</p>
      <p>
        <button type="button" class="button" onClick={() => setParams({ new: "flow" })}>
          {"New schedule\u2026"}
        </button>
      </p>
    </Empty>
  );
}
