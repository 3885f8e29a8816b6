/** The numbers of the 24 hour strip: ended runs per bar, running runs, and future fires. */
import type { ScheduleFires } from "#protocol/records/schedule-calendar";
import type { Stats } from "#protocol/records/stats";

const QUARTER_US = 900_000_000;
export const PAST_HOURS = 24;
export const COMING_HOURS = 6;

/** The four series, and future fires. */
export interface StripBar {
  from: number;
  to: number;
  completed: number;
  cached: number;
  passed: number;
  running: number;
  wrong: number;
  coming: number;
}

const PASSED: ReadonlySet<string> = new Set(["Skipped", "Cancelled"]);
const WRONG: ReadonlySet<string> = new Set(["Failed", "TimedOut", "Crashed"]);

/** Bars of `quarters` quarters of an hour each; the bar of `nowUs` also has the running runs. */
export function stripBars(
  stats: Stats,
  fires: readonly ScheduleFires[],
  running: number,
  nowUs: number,
  quarters: number,
): StripBar[] {
  const width = quarters * QUARTER_US;
  const current = Math.floor(nowUs / width);
  const past = (PAST_HOURS * 4) / quarters;
  const bars = Array.from({ length: past + (COMING_HOURS * 4) / quarters }, (_, index): StripBar => {
    const from = (current - past + 1 + index) * width;
    return { from, to: from + width, completed: 0, cached: 0, passed: 0, running: 0, wrong: 0, coming: 0 };
  });
  const at = (us: number) => bars[Math.floor(us / width) - current + past - 1];
  for (const { time, states } of stats.quarters) {
    const bar = at(time);
    if (bar !== undefined) for (const [name, count] of Object.entries(states)) add(bar, name, count);
  }
  const now = bars[past - 1];
  if (now !== undefined) now.running = running;
  for (const { fires: times, skipped } of fires) {
    const left = new Set(skipped.map(({ fire }) => fire));
    for (const time of times) {
      const bar = left.has(time) ? undefined : at(time);
      if (bar !== undefined) bar.coming += 1;
    }
  }
  return bars;
}

function add(bar: StripBar, name: string, count: number): void {
  if (WRONG.has(name)) bar.wrong += count;
  else if (PASSED.has(name)) bar.passed += count;
  else bar.completed += count;
  if (name === "Cached") bar.cached += count;
}

export function totalOf(bars: readonly StripBar[]): Omit<StripBar, "from" | "to"> {
  const total = { completed: 0, cached: 0, passed: 0, running: 0, wrong: 0, coming: 0 };
  for (const bar of bars) for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += bar[key];
  return total;
}
