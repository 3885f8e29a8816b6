/** The selected schedule: its definition, skipped fires, and skipping further fires with their downstream effects. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { FlowSummary } from "#protocol/records/flow";
import type { ScheduleRow } from "#protocol/records/schedule";
import type { ScheduleFires } from "#protocol/records/schedule-calendar";
import { nowUs } from "../../format/now.ts";
import { counted } from "../../format/number.ts";
import { day, minuteTime, plannedTime } from "../../format/time.ts";
import { useFiresOf } from "../../records/fires.ts";
import { downstreamOf } from "../../records/flows.ts";
import { pausedText, scheduleText, zoneOf } from "../../records/schedule-words.ts";
import { setParams, withParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import type { Line } from "./calendar-data.ts";
import { removeSchedule, setActive, skipFires, undoSkip } from "./schedule-actions.ts";

/** How far ahead fires can be skipped. */
const SKIP_MAX = 100;

export function SidePanel({ line, flows }: { line: Line; flows: readonly FlowSummary[] }): JSX.Element {
  const { schedule, flow } = line;
  // The fires of the calendar end with the days it shows.
  const ahead = useFiresOf(schedule, 2 * SKIP_MAX);
  const paused = pausedText(schedule);
  const code = schedule.source === "code";
  return (
    <aside class="side" aria-label="The chosen schedule">
      <h2>
        <a href={`/flows/${flow.id}`}>
          <bdi>{flow.project}</bdi> / <bdi>{flow.name}</bdi>
        </a>
      </h2>
      <dl class="key-values">
        <dt>Fires</dt>
        <dd class={scheduleText(schedule.schedule) === rawText(line) ? "mono" : ""}>{scheduleText(schedule.schedule)}</dd>
        <dt>Written as</dt>
        <dd class="mono">{rawText(line)}</dd>
        <dt>Zone</dt>
        <dd>{zoneOf(schedule.schedule)}</dd>
        <dt>Source</dt>
        <dd class="row">
          {code && <Glyph name="lock" />} {code ? (schedule.persist ? "code, detached" : "code") : schedule.source}
        </dd>
        <dt>Missed fires</dt>
        <dd>{schedule.catchup === "all" ? `all, at most ${schedule.catchup_max}` : schedule.catchup}</dd>
        <dt>Next fire</dt>
        <dd>{schedule.next_fire === null ? "none" : plannedTime(schedule.next_fire)}</dd>
      </dl>
      {paused !== null && (
        <p class="s-paused paused-note">
          <Glyph name="paused" /> {paused}. Runs that exist go on.
        </p>
      )}
      {code && !schedule.persist && (
        <p class="hint">Declared in code: an edit here lasts until the next server start unless you tick Keep.</p>
      )}
      {code && schedule.persist && <p class="hint">Detached from its declaration in code: it keeps what was set here.</p>}
      <div class="row wrap side-actions">
        <button type="button" class="button" onClick={() => void setActive(schedule)}>
          {schedule.active ? "Pause" : "Resume"}
        </button>
        <a class="button" href={withParams({ edit: String(schedule.id), new: null })}>
          {"Edit\u2026"}
        </a>
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            setParams({ schedule: null });
            removeSchedule(schedule);
          }}
        >
          Delete
        </button>
        <a class="button quiet" href={withParams({ schedule: null })}>
          Close
        </a>
      </div>
      {code && !schedule.persist && <p class="hint">A deleted code schedule comes back at the next server start.</p>}
      <Skipped schedule={schedule} ahead={ahead} />
      {schedule.active && <SkipMore key={schedule.id} line={line} ahead={ahead} flows={flows} />}
    </aside>
  );
}

function rawText({ schedule: { schedule } }: Line): string {
  if (schedule.kind === "cron") return schedule.cron;
  return schedule.kind === "interval" ? `${schedule.interval} s` : schedule.rrule;
}

function Skipped({ schedule, ahead }: { schedule: ScheduleRow; ahead: ScheduleFires | null }): JSX.Element | null {
  const skipped = ahead?.skipped ?? [];
  if (skipped.length === 0) return null;
  return (
    <section class="section">
      <div class="head">
        <h3>Skipped</h3>
      </div>
      <ul class="rows skips">
        {skipped.map(({ fire, by }) => (
          <li key={fire}>
            <Glyph name="skipped-fire" />
            <span>
              {day(fire)}, {minuteTime(fire)} <span class="faint meta">in the {by === "ui" ? "dashboard" : "API"}</span>
            </span>
            <button type="button" class="button small" onClick={() => void undoSkip(schedule, fire)}>
              Undo<span class="sr"> skip of {`${day(fire)}, ${minuteTime(fire)}`}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const LISTED = 8;

interface SkipMoreProps {
  line: Line;
  ahead: ScheduleFires | null;
  flows: readonly FlowSummary[];
}

function SkipMore({ line, ahead, flows }: SkipMoreProps): JSX.Element {
  const [text, setText] = useState("1");
  const [busy, setBusy] = useState(false);
  const skipped = new Set(ahead?.skipped.map(({ fire }) => fire));
  const open = (ahead?.fires ?? []).filter((fire) => !skipped.has(fire) && fire > nowUs()).slice(0, SKIP_MAX);
  const number = Math.floor(Number(text));
  const fires = number >= 1 ? open.slice(0, number) : [];
  const wrong = !(number >= 1) || number > open.length;
  const downstream = downstreamOf(line.flow, flows);
  const skip = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    await skipFires(line.schedule, fires);
    setBusy(false);
    setText("1");
  };
  return (
    <form class="section" onSubmit={skip}>
      <div class="head">
        <h3>Skip more</h3>
      </div>
      <label class="row skip-number">
        Skip the next
        <input
          class="field"
          type="number"
          min={1}
          max={Math.max(1, open.length)}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {number === 1 ? "fire" : "fires"}
      </label>
      {wrong && ahead !== null && (
        <p class="problem">{open.length === 0 ? "No fire is left to skip." : `From 1 to ${open.length} fires can be skipped.`}</p>
      )}
      <ul class="rows skips">
        {fires.slice(0, LISTED).map((fire) => (
          <li key={fire}>
            <Glyph name="skipped-fire" />
            <span>{day(fire)}</span>
            <time>{minuteTime(fire)}</time>
          </li>
        ))}
      </ul>
      {fires.length > LISTED && <p class="hint">and {fires.length - LISTED} more</p>}
      {downstream.length > 0 && fires.length > 0 && (
        <div class="sunk meta also">
          <b>Also skipped downstream</b>
          {downstream.map(({ id, project, name }) => (
            <p key={id} class="dim">
              <bdi>{project}</bdi> / <bdi>{name}</bdi>: {counted(fires.length, "run")} will be created as Skipped, because it runs
              after this flow.
            </p>
          ))}
        </div>
      )}
      <div class="row side-actions">
        <button type="submit" class="button primary" disabled={wrong || busy}>
          Skip {counted(fires.length, "fire")}
        </button>
      </div>
      <p class="hint">You can undo this until each fire's time.</p>
    </form>
  );
}
