/**
 * Duration classes, four per doubling: counts per class give quantiles to within a tenth, however many durations are counted.
 */

const CLASSES_PER_DOUBLING = 4;

/** Class of a run or task run that never started. */
export const NO_DURATION = -1;

/** The class of a duration in microseconds. */
export function durationClass(us: number): number {
  return Math.floor(CLASSES_PER_DOUBLING * Math.log2(us + 1));
}

/** The middle of a class, in microseconds. */
export function durationOfClass(group: number): number {
  return Math.round(2 ** ((group + 0.5) / CLASSES_PER_DOUBLING) - 1);
}

/** The duration below which `share` of the counted durations lie; null without any. */
export function quantile(counts: ReadonlyMap<number, number>, share: number): number | null {
  const classes = [...counts].filter(([group]) => group !== NO_DURATION).sort(([a], [b]) => a - b);
  const total = classes.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [group, count] of classes) {
    seen += count;
    if (seen >= share * total) return durationOfClass(group);
  }
  return null;
}
