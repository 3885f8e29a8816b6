/** Durations with their units, at most two. Durations come in microseconds. */

const US_PER_SECOND = 1_000_000;

/** "0.3 ms", "45 ms", "0.2 s", "38 s", "12 m 37 s", "1 h 04 m", "2 d 3 h". */
export function duration(us: number): string {
  const seconds = Math.max(0, us) / US_PER_SECOND;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  return wholeSeconds(Math.round(seconds));
}

/** Like `duration`, but always in whole seconds: for ticking figures. */
export function tickingDuration(us: number): string {
  return wholeSeconds(Math.max(0, Math.floor(us / US_PER_SECOND)));
}

function wholeSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** One unit, for ages: "4 s", "12 min", "3 h", "11 days". */
export function roughDuration(us: number): string {
  const seconds = Math.max(0, Math.floor(us / US_PER_SECOND));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.floor(hours / 24)} days`;
}

const SECONDS_PER = { s: 1, sec: 1, m: 60, min: 60, h: 3_600, d: 86_400, day: 86_400, days: 86_400 } as const;

/** The seconds in a text of `secondsText`, or in a plain number; null for any other text. */
export function secondsIn(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d|days?)?$/.exec(text.trim().toLowerCase());
  if (found === null) return null;
  return Number(found[1]) * SECONDS_PER[(found[2] ?? "s") as keyof typeof SECONDS_PER];
}

/** "45 min": a length in its largest whole unit, in the form for input. */
export function secondsText(seconds: number): string {
  if (seconds > 0 && seconds % 86_400 === 0) return `${seconds / 86_400} d`;
  if (seconds > 0 && seconds % 3_600 === 0) return `${seconds / 3_600} h`;
  if (seconds > 0 && seconds % 60 === 0) return `${seconds / 60} min`;
  return `${seconds} s`;
}
