/** A length of time: seconds as a number, or text such as "500ms", "30s", "5m", "2h", "1d". */
export type Duration = number | string;

const SECONDS_PER_UNIT = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 } as const;

/**
 * The number of seconds in a duration.
 * @throws RangeError for negative or infinite lengths and for text of another form.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { parseDuration } from "millrace";
 *
 * assert.equal(parseDuration("5m"), 300);
 * assert.equal(parseDuration("500ms"), 0.5);
 * assert.throws(() => parseDuration("soon"), RangeError);
 * ```
 */
export function parseDuration(duration: Duration): number {
  if (typeof duration === "number") {
    if (Number.isFinite(duration) && duration >= 0) return duration;
    throw new RangeError(`a duration is a number of seconds from 0 up, not ${duration}`);
  }
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/.exec(duration);
  if (match === null)
    throw new RangeError(`"${duration}" is not a duration: write seconds, or text like "500ms", "30s", "5m", "2h", "1d"`);
  const unit = (match[2] ?? "s") as keyof typeof SECONDS_PER_UNIT;
  // Dividing keeps milliseconds exact: 0.001 is not an exact double, "500ms" is 0.5.
  return unit === "ms" ? Number(match[1]) / 1000 : Number(match[1]) * SECONDS_PER_UNIT[unit];
}
