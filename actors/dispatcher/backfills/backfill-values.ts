/** The values of a backfill: the days or times from start to end, in steps counted in UTC. */
import { BACKFILL_INTERVAL_SECONDS_DEFAULT, BACKFILL_VALUES_MAX } from "#protocol/limits";

/** Text forms of a value: a day, or a time with seconds in UTC. */
export type ValueForm = "date" | "date-time";

/** Values as counts of days or seconds since the epoch, in order (`textOf` formats them), or the reason for a refusal. */
export type BackfillValues = { ok: true; units: number[]; intervalSeconds: number } | { ok: false; error: string };

const UNIT_SECONDS: readonly (readonly [RegExp, number])[] = [
  [/^s(ecs?)?$/, 1],
  [/^m(ins?)?$/, 60],
  [/^h(rs?|ours?)?$/, 3_600],
  [/^d(ays?)?$/, 86_400],
  [/^w(eeks?)?$/, 604_800],
];

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?$/;

/** No two parts of the pattern match the same text, so rejecting a text takes linear time. */
const INTERVAL = /^([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]*)$/;

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** The years that four digits can express. */
const [YEARS_START_MS, YEARS_END_MS] = [Date.parse("0000-01-01T00:00:00Z"), Date.parse("+010000-01-01T00:00:00Z")];

/** Each value once: steps shorter than the resolution of the form would repeat values. */
export function backfillValues(form: ValueForm, start: string, end: string, interval: unknown): BackfillValues {
  const first = readBound(start);
  if (first === null) return { ok: false, error: `cannot parse "${start}" as a date or datetime` };
  const last = readBound(end);
  if (last === null) return { ok: false, error: `cannot parse "${end}" as a date or datetime` };
  const seconds = readInterval(interval);
  if (typeof seconds === "string") return { ok: false, error: seconds };
  if (last < first) return { ok: false, error: "end is before start" };
  const units: number[] = [];
  const unitMs = unitOf(form);
  let newest = Number.NaN;
  // Computed from the start each time, so that fractions of a step do not accumulate.
  for (let step = 0; ; step += 1) {
    const ms = first + step * seconds * SECOND_MS;
    if (ms > last) break;
    const unit = Math.floor(ms / unitMs);
    if (unit !== newest) units.push(unit);
    newest = unit;
    if (units.length > BACKFILL_VALUES_MAX || step > STEPS_PER_VALUE_MAX * BACKFILL_VALUES_MAX) {
      return { ok: false, error: `more than ${BACKFILL_VALUES_MAX} values; use a longer interval or several backfills` };
    }
  }
  return { ok: true, units, intervalSeconds: seconds };
}

/** Steps that fall into one value; a smaller interval is taken for a mistake. */
const STEPS_PER_VALUE_MAX = 24;

/** Milliseconds since the epoch; null for a text that is neither a date nor a datetime. A time without offset is UTC. */
function readBound(text: string): number | null {
  const date = DATE.test(text) ? text : (TIME.exec(text)?.[1] ?? null);
  if (date === null) return null;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // Date.parse turns 30 February into 2 March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return null;
  if (date === text) return midnight;
  const [, , hour, minute, second, , offset] = TIME.exec(text) ?? [];
  const ms = Date.parse(`${date}T${hour}:${minute}:${second}${offset === undefined ? "Z" : offset.toUpperCase()}`);
  return ms >= YEARS_START_MS && ms < YEARS_END_MS ? ms : null;
}

/** Seconds, or the error. */
function readInterval(sent: unknown): number | string {
  if (sent === undefined || sent === null) return BACKFILL_INTERVAL_SECONDS_DEFAULT;
  if (typeof sent === "number") return sent > 0 ? sent : "interval must be positive";
  const text = String(sent).trim();
  const match = INTERVAL.exec(text);
  if (match === null) return `invalid interval "${text}"`;
  const unit = (match[2] ?? "").toLowerCase();
  const known = unit === "" ? 1 : UNIT_SECONDS.find(([names]) => names.test(unit))?.[1];
  if (known === undefined) return `unknown interval unit "${match[2]}"`;
  const seconds = Number(match[1]) * known;
  return seconds > 0 && Number.isFinite(seconds) ? seconds : "interval must be positive";
}

function unitOf(form: ValueForm): number {
  return form === "date" ? DAY_MS : SECOND_MS;
}

/** The text of a value. */
export function textOf(form: ValueForm, unit: number): string {
  const text = new Date(unit * unitOf(form)).toISOString();
  return form === "date" ? text.slice(0, 10) : `${text.slice(0, 19)}Z`;
}

/** The form of a parameter: its format date or date-time, directly or inside anyOf; null for other parameters. */
export function valueForm(property: unknown): ValueForm | null {
  if (typeof property !== "object" || property === null) return null;
  const { format, anyOf } = property as { format?: unknown; anyOf?: unknown };
  if (format === "date" || format === "date-time") return format;
  if (!Array.isArray(anyOf)) return null;
  for (const branch of anyOf) {
    const found = valueForm(branch);
    if (found !== null) return found;
  }
  return null;
}
