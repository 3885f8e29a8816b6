/** A step of the wall clock in words. */

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
const DAY_US = 24 * HOUR_US;

/** A length of time in its two largest units. */
export function lengthText(us: number): string {
  const minutes = Math.round(us / MINUTE_US);
  const parts = [
    [Math.floor((minutes * MINUTE_US) / DAY_US), "day"],
    [Math.floor((minutes * MINUTE_US) / HOUR_US) % 24, "hour"],
    [minutes % 60, "minute"],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}${count === 1 ? "" : "s"}`);
  return told.length === 0 ? "less than a minute" : told.slice(0, 2).join(" ");
}

export function stepText({ stepUs }: { stepUs: number }): string {
  return `the clock of this machine was set ${stepUs < 0 ? "back" : "forward"} by ${lengthText(Math.abs(stepUs))}`;
}
