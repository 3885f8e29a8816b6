/** The time axis: positions of times, with long idle stretches compressed. */

export interface Idle {
  fromUs: number;
  toUs: number;
}

export interface Axis {
  fromUs: number;
  toUs: number;
  idle: readonly Idle[];
  /** Position of a time, from 0 to 1. */
  at: (us: number) => number;
}

/** A stretch without work is compressed if it is longer than this share of the whole. */
const IDLE_SHARE = 0.12;
/** Width of a compressed stretch. */
const IDLE_WIDTH = 0.03;

export function axisOf(spans: readonly (readonly [fromUs: number, toUs: number])[], fromUs: number, toUs: number): Axis {
  const end = Math.max(toUs, fromUs + 1);
  const idle = idleStretches(spans, fromUs, end);
  const idleUs = idle.reduce((sum, stretch) => sum + stretch.toUs - stretch.fromUs, 0);
  const busyUs = Math.max(1, end - fromUs - idleUs);
  const busyWidth = 1 - idle.length * IDLE_WIDTH;
  const at = (us: number): number => {
    let place = 0;
    let before = fromUs;
    for (const stretch of idle) {
      if (us <= stretch.fromUs) break;
      place += ((stretch.fromUs - before) / busyUs) * busyWidth;
      place += Math.min(1, (us - stretch.fromUs) / (stretch.toUs - stretch.fromUs)) * IDLE_WIDTH;
      before = stretch.toUs;
      if (us <= stretch.toUs) return place;
    }
    return Math.min(1, Math.max(0, place + ((us - before) / busyUs) * busyWidth));
  };
  return { fromUs, toUs: end, idle, at };
}

function idleStretches(spans: readonly (readonly [number, number])[], fromUs: number, toUs: number): Idle[] {
  const sorted = [...spans].sort(([a], [b]) => a - b);
  const idle: Idle[] = [];
  let busyUntil = fromUs;
  for (const [from, to] of [...sorted, [toUs, toUs] as const]) {
    if (from - busyUntil > (toUs - fromUs) * IDLE_SHARE) idle.push({ fromUs: busyUntil, toUs: from });
    busyUntil = Math.max(busyUntil, to);
  }
  return idle;
}

/**
 * Times to label: both ends, both sides of compressed stretches, and even steps between, never closer than the width of a
 * label.
 */
export function labelsOf(axis: Axis, distance: number): number[] {
  const wanted = [axis.fromUs, axis.toUs, ...axis.idle.flatMap(({ fromUs, toUs }) => [fromUs, toUs])];
  for (let part = 1; part < 5; part += 1) wanted.push(axis.fromUs + ((axis.toUs - axis.fromUs) * part) / 5);
  const shown: number[] = [];
  for (const us of wanted) if (shown.every((other) => Math.abs(axis.at(other) - axis.at(us)) >= distance)) shown.push(us);
  return shown.sort((a, b) => a - b);
}

/** Number of bars in each of `parts` equal parts of the whole, scaled so that the maximum is 1. */
export function density(
  bars: readonly (readonly [fromUs: number, toUs: number])[],
  { fromUs, toUs }: { fromUs: number; toUs: number },
  parts: number,
): number[] {
  const width = (toUs - fromUs) / parts;
  // Each bar raises the level at its start and lowers it after its end.
  const steps = new Array<number>(parts + 1).fill(0);
  const place = (us: number) => Math.max(0, Math.min(parts - 1, Math.floor((us - fromUs) / width)));
  for (const [begin, end] of bars) {
    steps[place(begin)] = (steps[place(begin)] ?? 0) + 1;
    steps[place(end) + 1] = (steps[place(end) + 1] ?? 0) - 1;
  }
  let level = 0;
  const levels = steps.slice(0, parts).map((step) => {
    level += step;
    return level;
  });
  const most = Math.max(1, ...levels);
  return levels.map((each) => each / most);
}
