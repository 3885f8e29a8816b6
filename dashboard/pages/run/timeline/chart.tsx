/** The timeline: a brush, an axis, and the rows in the window. */
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { duration } from "../../../format/duration.ts";
import { now } from "../../../format/now.ts";
import { clockTime, logTime } from "../../../format/time.ts";
import { useNarrow } from "../../../parts/media.ts";
import { useVirtualRows } from "../../../parts/table/virtual-rows.ts";
import { setParams, withParams } from "../../../router/router.ts";
import { Glyph } from "../../../state/glyph.tsx";
import { type Axis, axisOf, labelsOf } from "./axis.ts";
import { Brush } from "./brush.tsx";
import type { TimelineBar, TimelineRow } from "./rows.ts";
import { chosenSpan, type Span } from "./span.ts";

/** Height of a row, wide and narrow, as in timeline.css. */
const ROW_HEIGHT = [27, 55] as const;
/** Minimum distance of labels on the axis, as a share of it: wide and narrow. */
const LABEL_DISTANCE = [0.11, 0.26] as const;
/** Shorter times are labelled with milliseconds, microseconds. */
const FINE_US = 10_000_000;

type Stretch = readonly [fromUs: number, toUs: number];

function wholeOf(run: Run, stretches: readonly Stretch[], present: number): Span {
  let fromUs = run.start_time ?? present;
  let toUs = present;
  for (const [begin, end] of stretches) {
    fromUs = Math.min(fromUs, begin);
    toUs = Math.max(toUs, end);
  }
  return { fromUs: Math.min(fromUs, toUs - 1), toUs };
}

export function Chart({ run, rows }: { run: Run; rows: readonly TimelineRow[] }): JSX.Element {
  const narrow = useNarrow() ? 1 : 0;
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const virtual = useVirtualRows({ count: rows.length, height: ROW_HEIGHT[narrow], scroller, list });
  const present = isTerminal(run.state.type) ? (run.end_time ?? run.state.timestamp) : now.value * 1000;
  const stretches = useMemo(
    () => rows.flatMap(({ bars }) => bars.map(({ fromUs, toUs }) => [fromUs, toUs ?? present] as const)),
    [rows, present],
  );
  const whole = useMemo(() => wholeOf(run, stretches, present), [run, stretches, present]);
  const part = chosenSpan(whole);
  const { fromUs, toUs } = part ?? whole;
  const axis = useMemo(() => {
    const inside = stretches.flatMap(([from, to]): Stretch[] =>
      to < fromUs || from > toUs ? [] : [[Math.max(from, fromUs), Math.min(to, toUs)]],
    );
    return axisOf(inside, fromUs, toUs);
  }, [stretches, fromUs, toUs]);
  return (
    <div class="timeline" role="group" aria-label="Timeline of tasks">
      <div class="timeline-grid">
        <span class="timeline-hint">
          {part === null ? (
            "Drag to look at a part"
          ) : (
            <button type="button" class="button small" onClick={() => setParams({ span: null })}>
              The whole run
            </button>
          )}
        </span>
        <Brush whole={whole} part={part} bars={stretches} />
        <span class="timeline-idle">
          {axis.idle.length > 0 && (
            <>
              <i aria-hidden="true" /> idle
            </>
          )}
        </span>
      </div>
      <div class="timeline-head timeline-grid">
        <span>Task, failed first</span>
        <Labels axis={axis} distance={LABEL_DISTANCE[narrow]} />
        <span class="num">Busy</span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
      <div class="timeline-rows" ref={scroller} tabIndex={0} role="region" aria-label="Rows">
        <ul ref={list} style={{ paddingTop: `${virtual.before}px`, paddingBottom: `${virtual.after}px` }}>
          {virtual.items.map(({ index }) => {
            const row = rows[index];
            return row === undefined ? null : <Row key={row.key} {...{ row, axis, present }} />;
          })}
        </ul>
      </div>
    </div>
  );
}

function Labels({ axis, distance }: { axis: Axis; distance: number }): JSX.Element {
  const text = axis.toUs - axis.fromUs < FINE_US ? logTime : clockTime;
  return (
    <div class="timeline-axis" aria-hidden="true">
      {labelsOf(axis, distance).map((us) => (
        <span
          key={us}
          style={{ left: `${axis.at(us) * 100}%` }}
          class={axis.at(us) > 0.95 ? "last" : axis.at(us) < 0.05 ? "first" : ""}
        >
          {text(us)}
        </span>
      ))}
    </div>
  );
}

function Row({ row, axis, present }: { row: TimelineRow; axis: Axis; present: number }): JSX.Element {
  return (
    <li class="timeline-grid">
      <a class={`timeline-name s-${row.token}`} href={withParams({ tab: "tasks", task: row.taskName, span: null })}>
        <Glyph name={row.token} size={13} />
        <span class="sr">{row.word}: </span>
        <span class={`cut ${row.strong ? "strong" : ""}`} title={row.name}>
          {row.name}
        </span>
      </a>
      <div class="timeline-bars" aria-hidden="true">
        {axis.idle.map(({ fromUs, toUs }) => (
          <span
            key={fromUs}
            class="idle"
            title={`Nothing ran for ${duration(toUs - fromUs)}`}
            style={{ left: `${axis.at(fromUs) * 100}%`, width: `${(axis.at(toUs) - axis.at(fromUs)) * 100}%` }}
          />
        ))}
        {row.bars.map((bar) => (
          <BarMark key={bar.fromUs} {...{ bar, axis, present }} capped={row.strong && !bar.earlier} />
        ))}
        {row.bars.length === 0 && <span class="never">never started</span>}
      </div>
      <span class="num meta">{row.busyUs > 0 ? duration(row.busyUs) : ""}</span>
    </li>
  );
}

/** Narrower bars would be invisible, per cent. */
const WIDTH_MIN = 0.15;

function BarMark({
  bar,
  axis,
  present,
  capped,
}: {
  bar: TimelineBar;
  axis: Axis;
  present: number;
  capped: boolean;
}): JSX.Element | null {
  const end = bar.toUs ?? present;
  if (end < axis.fromUs || bar.fromUs > axis.toUs) return null;
  const left = axis.at(bar.fromUs);
  const width = Math.max(WIDTH_MIN, (axis.at(end) - left) * 100);
  const classes = [`s-${bar.token}`, bar.toUs === null ? "open" : "", bar.earlier ? "earlier" : "", capped ? "cap" : ""];
  return (
    <i
      class={classes.join(" ")}
      title={`${clockTime(bar.fromUs)}, ${duration(end - bar.fromUs)}`}
      style={{ left: `${left * 100}%`, width: `${width}%` }}
    />
  );
}
