/** The timetable: schedules by days; the position in a cell is the time of day. */
import type { JSX } from "preact";
import type { CalendarDay } from "../../format/calendar.ts";
import { count, counted } from "../../format/number.ts";
import { day as dayText, minuteTime } from "../../format/time.ts";
import { pausedText, scheduleText } from "../../records/schedule-words.ts";
import { withParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import type { Line, Mark } from "./calendar-data.ts";

/** A cell with more fires than this shows a band. */
const GLYPHS_PER_DAY = 6;
const HOUR_US = 3_600_000_000;

interface CalendarProps {
  lines: readonly Line[];
  days: readonly CalendarDay[];
  nowUs: number;
  chosen: number | null;
}

export function Calendar({ lines, days, nowUs, chosen }: CalendarProps): JSX.Element {
  return (
    <div class="scrolls">
      <table class="calendar">
        <colgroup>
          <col class="c-schedule" />
          {days.map(({ from }) => (
            <col key={from} />
          ))}
        </colgroup>
        <thead>
          <tr>
            <th scope="col">Flow and schedule</th>
            {days.map((day) => (
              <DayHead key={day.from} day={day} nowUs={nowUs} />
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.schedule.id} class={line.schedule.id === chosen ? "chosen" : ""}>
              <LineHead line={line} chosen={line.schedule.id === chosen} />
              {days.map((day) => (
                <Cell key={day.from} line={line} day={day} nowUs={nowUs} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function DayHead({ day, nowUs }: { day: CalendarDay; nowUs: number }): JSX.Element {
  const today = day.from <= nowUs && nowUs < day.to;
  const note = today ? `${minuteTime(nowUs)} now` : day.hours === 24 ? "\u00a0" : `${day.hours} h day`;
  return (
    <th scope="col" class={`${today ? "today" : ""} ${day.hours === 24 ? "" : "odd"}`}>
      <b>{dayText(day.from)}</b>
      <small>{note}</small>
    </th>
  );
}

function LineHead({ line: { schedule, flow }, chosen }: { line: Line; chosen: boolean }): JSX.Element {
  const paused = pausedText(schedule);
  return (
    <th scope="row">
      <a href={withParams({ schedule: String(schedule.id) })} aria-current={chosen ? "true" : undefined} class="schedule-link">
        <span class="cut name" title={`${flow.project} / ${flow.name}`}>
          {flow.name}
        </span>
        {paused === null ? (
          <span class="cut meta faint">
            <bdi>{flow.project}</bdi>, {scheduleText(schedule.schedule)}
          </span>
        ) : (
          <span class="meta s-paused paused-note">
            <Glyph name="paused" size={12} /> {paused}
          </span>
        )}
      </a>
    </th>
  );
}

function Cell({ line, day, nowUs }: { line: Line; day: CalendarDay; nowUs: number }): JSX.Element {
  const marks = line.marks.filter(({ time }) => time >= day.from && time < day.to);
  const band = marks.reduce((sum, mark) => sum + Math.max(1, mark.count), 0) > GLYPHS_PER_DAY || marks.some(isHourToCome);
  const at = (us: number) => ((us - day.from) / (day.to - day.from)) * 100;
  const now = nowUs >= day.from && nowUs < day.to ? <i class="now-line" style={{ left: `${at(nowUs)}%` }} /> : null;
  return (
    <td class={day.hours === 24 ? "" : "odd"}>
      <div class="cell">
        {band ? (
          <Band marks={marks} at={at} day={day} nowUs={nowUs} />
        ) : (
          marks.map((mark) => <MarkLink key={`${mark.time} ${mark.text}`} mark={mark} left={at(mark.time)} />)
        )}
        {now}
      </div>
    </td>
  );
}

function isHourToCome({ hour, kind }: Mark): boolean {
  return hour && kind === "projected";
}

function MarkLink({ mark, left }: { mark: Mark; left: number }): JSX.Element {
  const text = `${minuteTime(mark.time)}, ${mark.text}`;
  const look = { class: `cal-mark s-${mark.token}`, style: { left: `${Math.max(4, Math.min(96, left))}%` }, title: text };
  const inside = (
    <>
      <Glyph name={mark.glyph} />
      <span class="sr">{text}</span>
    </>
  );
  return mark.href === null ? (
    <span {...look}>{inside}</span>
  ) : (
    <a {...look} href={mark.href}>
      {inside}
    </a>
  );
}

interface Segment {
  from: number;
  to: number;
  look: string;
}

/** Hours with fires, adjacent ones joined. */
function segmentsOf(marks: readonly Mark[], day: CalendarDay, nowUs: number): Segment[] {
  const segments: Segment[] = [];
  for (const { time, kind } of marks) {
    const look = time > nowUs ? "coming" : kind === "run" ? "done" : "coming";
    const from = Math.max(day.from, Math.floor(time / HOUR_US) * HOUR_US);
    const to = Math.min(day.to, from + HOUR_US, look === "done" ? Math.max(nowUs, from) : Number.POSITIVE_INFINITY);
    const last = segments.at(-1);
    if (last !== undefined && last.look === look && last.to >= from) last.to = Math.max(last.to, to);
    else segments.push({ from: look === "coming" ? Math.max(from, Math.min(nowUs, to)) : from, to, look });
  }
  return segments;
}

interface BandProps {
  marks: readonly Mark[];
  day: CalendarDay;
  nowUs: number;
  at: (us: number) => number;
}

function Band({ marks, day, nowUs, at }: BandProps): JSX.Element {
  const wrong = marks.filter((mark) => mark.wrong);
  const ran = marks.reduce((sum, { count: runs, kind }) => sum + (kind === "run" ? runs : 0), 0);
  const failed = wrong.reduce((sum, mark) => sum + mark.count, 0);
  const text = `${count(ran)} runs${failed > 0 ? `, ${count(failed)} of them went wrong` : ""}`;
  return (
    <>
      {segmentsOf(marks, day, nowUs).map(({ from, to, look }) => (
        <i key={`${look} ${from}`} class={`cal-band ${look}`} style={{ left: `${at(from)}%`, width: `${at(to) - at(from)}%` }} />
      ))}
      <span class="sr">{text}</span>
      {wrong.map((mark) => (
        <a
          key={`${mark.time} ${mark.text}`}
          class={`cal-tick s-${mark.token}`}
          style={{ left: `${Math.min(97, at(mark.time))}%` }}
          href={mark.href ?? "#"}
          title={`${minuteTime(mark.time)}, ${mark.text}`}
        >
          <span class="sr">{`${minuteTime(mark.time)}, ${mark.text}`}</span>
        </a>
      ))}
    </>
  );
}

/** The calendar as a list by day, with every mark in words, for narrow windows. */
export function Agenda({ lines, days }: { lines: readonly Line[]; days: readonly CalendarDay[] }): JSX.Element {
  return (
    <div class="agenda">
      {days.map((day) => (
        <AgendaDay key={day.from} day={day} lines={lines} />
      ))}
    </div>
  );
}

const AGENDA_ROWS = 60;

function AgendaDay({ day, lines }: { day: CalendarDay; lines: readonly Line[] }): JSX.Element {
  const entries = lines
    .flatMap((line) => line.marks.filter(({ time }) => time >= day.from && time < day.to).map((mark) => ({ line, mark })))
    .sort((a, b) => a.mark.time - b.mark.time);
  return (
    <section class="section">
      <div class="head">
        <h2>{dayText(day.from)}</h2>
        <span class="meta faint">
          {day.hours !== 24 && `${day.hours} h day, `}
          {counted(entries.length, "entry", "entries")}
        </span>
      </div>
      {entries.length === 0 && <p class="dim calm">Nothing.</p>}
      <ol class="rows agenda-rows">
        {entries.slice(0, AGENDA_ROWS).map(({ line, mark }) => (
          <li key={`${line.schedule.id} ${mark.time} ${mark.text}`} class={`s-${mark.token} ${mark.kind}`}>
            <time class="strong">{minuteTime(mark.time)}</time>
            <Glyph name={mark.glyph} />
            <a class="cut" href={mark.href ?? withParams({ schedule: String(line.schedule.id) })}>
              <bdi>{line.flow.project}</bdi> / <bdi>{line.flow.name}</bdi>
            </a>
            <span class="meta faint">{mark.text}</span>
          </li>
        ))}
      </ol>
      {entries.length > AGENDA_ROWS && <p class="hint">{count(entries.length - AGENDA_ROWS)} more on this day.</p>}
    </section>
  );
}
