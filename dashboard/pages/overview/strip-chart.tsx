/** The 24 hour strip: successes above the line, failures below it, future fires in outline. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { count } from "../../format/number.ts";
import { minuteTime } from "../../format/time.ts";
import { Glyph } from "../../state/glyph.tsx";
import { type StripBar, totalOf } from "./strip.ts";

const ABOVE = 108;
const BELOW = 40;
const TOP = 24;
const AXIS = 24;
const LEAST = 6;
const LINE = TOP + ABOVE;
const HEIGHT = LINE + BELOW + AXIS;
const TICK_HOURS = 3;

interface Part {
  y: number;
  height: number;
  look: string;
}

/** The parts of a bar: both sides of the line share one scale, with a minimum height. */
function partsOf(bar: StripBar, scale: number): Part[] {
  const parts: Part[] = [];
  let top = LINE;
  for (const [value, look] of [
    [bar.completed, "completed"],
    [bar.passed, "passed"],
    [bar.running, "running"],
    [bar.coming, "coming"],
  ] as const) {
    if (value === 0) continue;
    const height = Math.max(LEAST, value * scale);
    top -= height;
    parts.push({ y: top, height, look });
  }
  if (bar.wrong > 0) parts.push({ y: LINE + 2, height: Math.min(BELOW, Math.max(LEAST, bar.wrong * scale)), look: "failed" });
  return parts;
}

/** "14:15 to 14:30: 12 completed, 1 went wrong". */
function barText(bar: StripBar): string {
  const said = [
    [bar.completed, "completed"],
    [bar.passed, "passed over"],
    [bar.running, "running"],
    [bar.wrong, "went wrong"],
    [bar.coming, "to come"],
  ] as const;
  const words = said.filter(([value]) => value > 0).map(([value, word]) => `${count(value)} ${word}`);
  return `${minuteTime(bar.from)} to ${minuteTime(bar.to)}: ${words.length === 0 ? "nothing" : words.join(", ")}`;
}

function addressOf(bar: StripBar, nowUs: number): string {
  return bar.from > nowUs ? "/schedules?view=agenda" : `/runs?ended_from=${bar.from}&ended_to=${bar.to}`;
}

/** A round number above the highest bar. */
function niceTop(most: number): number {
  const step = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return Math.max(4, [1, 2, 3, 5, 10].map((times) => times * step).find((top) => top >= most) ?? most);
}

export interface StripProps {
  bars: readonly StripBar[];
  nowUs: number;
  /** Width of the drawing in pixels, its own units. */
  width: number;
  perText: string;
}

export function StripChart({ bars, nowUs, width, perText }: StripProps): JSX.Element {
  const top = niceTop(Math.max(...bars.map((bar) => bar.completed + bar.passed + bar.running + bar.coming)));
  const scale = ABOVE / top;
  const step = width / bars.length;
  const first = bars[0]?.from ?? 0;
  const xOf = (us: number) => ((us - first) / ((bars.at(-1)?.to ?? 1) - first)) * width;
  const now = xOf(nowUs);
  return (
    <div class="strip">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        {[0.5, 1].map((part) => (
          <line key={part} class="grid" x1="0" x2={width} y1={LINE - ABOVE * part} y2={LINE - ABOVE * part} />
        ))}
        <text x="0" y={TOP - 8}>
          {top} {perText}
        </text>
        {bars.map((bar, index) =>
          partsOf(bar, scale).map(({ y, height, look }) => (
            <rect key={`${index} ${look}`} class={`bar-${look}`} x={index * step + 0.75} width={step - 1.5} {...{ y, height }} />
          )),
        )}
        <line class="waterline" x1="0" x2={width} y1={LINE + 1} y2={LINE + 1} />
        {bars
          .filter(({ from }) => isTick(from) && Math.abs(xOf(from) - now) > 44)
          .map(({ from }) => (
            <text key={from} x={xOf(from)} y={HEIGHT - 6} text-anchor={xOf(from) < 16 ? "start" : "middle"}>
              {minuteTime(from)}
            </text>
          ))}
        <line class="now" x1={now} x2={now} y1={TOP - 16} y2={HEIGHT - AXIS + 4} />
        <text class="now" x={now} y={HEIGHT - 6} text-anchor="middle">
          now {minuteTime(nowUs)}
        </text>
      </svg>
      <BarLinks bars={bars} nowUs={nowUs} />
    </div>
  );
}

function isTick(us: number): boolean {
  const [hour = "0", minute] = minuteTime(us).split(":");
  return minute === "00" && Number(hour) % TICK_HOURS === 0;
}

/** One link over each bar; the arrow keys move between them, and only one is in the tab order. */
function BarLinks({ bars, nowUs }: { bars: readonly StripBar[]; nowUs: number }): JSX.Element {
  const current = bars.findIndex(({ from, to }) => from <= nowUs && nowUs < to);
  const [at, setAt] = useState(current);
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(bars.length - 1, to));
    setAt(next);
    list.current?.querySelectorAll("a")[next]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the links inside take the focus
    <div class="bar-links" ref={list} onKeyDown={move}>
      {bars.map((bar, index) => (
        <a
          key={bar.from}
          href={addressOf(bar, nowUs)}
          tabIndex={index === at ? 0 : -1}
          title={barText(bar)}
          onFocus={() => setAt(index)}
        >
          <span class="sr">{barText(bar)}</span>
        </a>
      ))}
    </div>
  );
}

export function StripLegend({ bars }: { bars: readonly StripBar[] }): JSX.Element {
  const total = totalOf(bars);
  const entries = [
    ["completed", "Completed", total.completed],
    ["skipped", "Passed over", total.passed],
    ["running", "Running", total.running],
    ["failed", "Went wrong", total.wrong],
    ["projected", "Coming", total.coming],
  ] as const;
  return (
    <div class="legend">
      {entries.map(([token, word, value]) => (
        <span key={token} class={token === "projected" ? "s-scheduled" : `s-${token}`}>
          <Glyph name={token} size={12} /> {word} <b>{count(value)}</b>
          {token === "completed" && total.cached > 0 && <span class="faint">{count(total.cached)} of them cached</span>}
        </span>
      ))}
    </div>
  );
}

/** The same numbers as a table, for screen readers. */
export function StripTable({ bars }: { bars: readonly StripBar[] }): JSX.Element {
  return (
    <details class="as-table">
      <summary>The same as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
      <section class="scrolls" aria-label="Runs by time" tabIndex={0}>
        <table class="plain-table">
          <thead>
            <tr>
              {["From", "Completed", "Passed over", "Running", "Went wrong", "Coming"].map((head) => (
                <th scope="col" key={head} class={head === "From" ? "" : "num"}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.from}>
                <th scope="row">{minuteTime(bar.from)}</th>
                {[bar.completed, bar.passed, bar.running, bar.wrong, bar.coming].map((value, index) => (
                  <td key={index} class="num">
                    {count(value)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
