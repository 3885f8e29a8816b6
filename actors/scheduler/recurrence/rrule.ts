/**
 * Recurrence rules: the wall times of a rule, period by period, and the resulting fires.
 *
 * Periods are counted from DTSTART arithmetically, so an old rule costs no more than a new one, and the search for a rule
 * that never fires ends at a maximum of periods. The expansion uses plain numbers; the zone of the process is not used.
 */
import { civilDate, DAY_US, dayNumber, dayOf, daysInMonth, HOUR_US, MINUTE_US, weekday } from "./calendar.ts";
import { type Fires, HORIZON_US, momentsOf, type WallTimes } from "./fires.ts";
import { type Recurrence, startParts } from "./rrule-parse.ts";
import type { Zone } from "./zone.ts";

/** Maximum of periods per search: about 50 ms, and more than any rule with fires needs. */
const PERIODS_MAX = 200_000;

const SECOND_US = 1_000_000;

/** The wall times of a rule without its COUNT and UNTIL. */
export class RecurringTimes implements WallTimes {
  readonly repeats: boolean;
  readonly #rule: Recurrence;
  readonly #times: number[];
  readonly #first: number;
  readonly #stepUs: number;
  readonly #wholeYear: boolean;
  #periodsLeft = PERIODS_MAX;

  constructor(rule: Recurrence) {
    this.#rule = withDefaults(rule);
    this.repeats = rule.freq === "HOURLY" || rule.freq === "MINUTELY";
    this.#stepUs = rule.freq === "HOURLY" ? HOUR_US : MINUTE_US;
    this.#times = timesWithinPeriod(this.#rule);
    this.#first = this.#periodOf(rule.startWall);
    this.#wholeYear = this.#rule.freq === "YEARLY" && this.#rule.bymonth.length === 0;
  }

  /** Resets the period limit for the next search. */
  restart(): void {
    this.#periodsLeft = PERIODS_MAX;
  }

  between(from: number, to: number, count: number): number[] {
    const found: number[] = [];
    const { interval, startWall } = this.#rule;
    const least = Math.max(from, startWall);
    let period = this.#first + Math.max(0, Math.ceil((this.#periodOf(least) - this.#first) / interval)) * interval;
    // A week or month may begin before `from` and still contain later moments.
    for (; found.length < count && this.#startOf(period) < to && this.#periodsLeft > 0; period += interval) {
      this.#periodsLeft -= 1;
      if (this.repeats && !this.#isDay(dayOf(this.#startOf(period)))) {
        period = this.#lastOfDay(period);
        continue;
      }
      for (const wall of this.#expand(period)) {
        if (wall >= to || found.length >= count) break;
        if (wall >= least) found.push(wall);
      }
    }
    return found;
  }

  /** Number of the period that contains a wall time, in years, months, weeks, days, hours or minutes. */
  #periodOf(wall: number): number {
    const day = dayOf(wall);
    switch (this.#rule.freq) {
      case "YEARLY":
        return civilDate(day).year;
      case "MONTHLY": {
        const { year, month } = civilDate(day);
        return year * 12 + month - 1;
      }
      case "WEEKLY":
        return Math.floor((day - weekAnchor(this.#rule.wkst)) / 7);
      case "DAILY":
        return day;
      default:
        return Math.floor(wall / this.#stepUs);
    }
  }

  #startOf(period: number): number {
    return this.repeats ? period * this.#stepUs : this.#daysOf(period)[0] * DAY_US;
  }

  /** First day of a period, and of the next period. */
  #daysOf(period: number): [number, number] {
    switch (this.#rule.freq) {
      case "YEARLY":
        return [dayNumber(period, 1, 1), dayNumber(period + 1, 1, 1)];
      case "MONTHLY": {
        const [year, month] = [Math.floor(period / 12), (((period % 12) + 12) % 12) + 1];
        const first = dayNumber(year, month, 1);
        return [first, first + daysInMonth(year, month)];
      }
      case "WEEKLY": {
        const first = weekAnchor(this.#rule.wkst) + period * 7;
        return [first, first + 7];
      }
      default:
        return [period, period + 1];
    }
  }

  /** The last period of the rule that begins on the same day as this one. */
  #lastOfDay(period: number): number {
    const { interval } = this.#rule;
    const next = ((dayOf(this.#startOf(period)) + 1) * DAY_US) / this.#stepUs;
    return period + Math.floor((next - 1 - period) / interval) * interval;
  }

  #expand(period: number): number[] {
    const walls: number[] = [];
    if (this.repeats) {
      const start = period * this.#stepUs;
      if (this.#isTime(start)) for (const time of this.#times) walls.push(start + time);
    } else {
      const [first, end] = this.#daysOf(period);
      for (let day = first; day < end; day += 1) {
        if (this.#isDay(day)) for (const time of this.#times) walls.push(day * DAY_US + time);
      }
    }
    const { bysetpos } = this.#rule;
    if (bysetpos.length === 0) return walls;
    return walls.filter((_, index) => bysetpos.includes(index + 1) || bysetpos.includes(index - walls.length));
  }

  /** Whether the parts for hours and minutes allow this time. */
  #isTime(wall: number): boolean {
    const { freq, byhour, byminute } = this.#rule;
    const ofDay = wall - dayOf(wall) * DAY_US;
    if (byhour.length > 0 && !byhour.includes(Math.floor(ofDay / HOUR_US))) return false;
    return freq === "HOURLY" || byminute.length === 0 || byminute.includes(Math.floor((ofDay % HOUR_US) / MINUTE_US));
  }

  #isDay(days: number): boolean {
    const { bymonth, bymonthday, byyearday, byweekno, byday, wkst } = this.#rule;
    const { year, month, day } = civilDate(days);
    if (bymonth.length > 0 && !bymonth.includes(month)) return false;
    if (byweekno.length > 0 && !isInWeeks(days, byweekno, wkst)) return false;
    if (bymonthday.length > 0) {
      if (!bymonthday.includes(day) && !bymonthday.includes(day - daysInMonth(year, month) - 1)) return false;
    }
    if (byyearday.length > 0) {
      const ofYear = days - dayNumber(year, 1, 1) + 1;
      const length = dayNumber(year + 1, 1, 1) - dayNumber(year, 1, 1);
      if (!byyearday.includes(ofYear) && !byyearday.includes(ofYear - length - 1)) return false;
    }
    return byday.length === 0 || byday.some((wanted) => this.#isWeekday(wanted, days, year, month));
  }

  #isWeekday(wanted: { weekday: number; nth: number }, days: number, year: number, month: number): boolean {
    if (wanted.weekday !== weekday(days)) return false;
    if (wanted.nth === 0) return true;
    const first = dayNumber(year, this.#wholeYear ? 1 : month, 1);
    const length = this.#wholeYear ? dayNumber(year + 1, 1, 1) - first : daysInMonth(year, month);
    const fromStart = Math.floor((days - first) / 7) + 1;
    const fromEnd = -Math.floor((first + length - 1 - days) / 7) - 1;
    return wanted.nth === fromStart || wanted.nth === fromEnd;
  }
}

/** The day from which weeks beginning on `wkst` are counted. Day 0 was a Thursday. */
function weekAnchor(wkst: number): number {
  return (wkst - 4 + 7) % 7;
}

/** Parts missing in the rule are taken from DTSTART. */
function withDefaults(rule: Recurrence): Recurrence {
  const { freq, bymonth, bymonthday, byyearday, byweekno, byday, startWall } = rule;
  const { month, day } = startParts(startWall);
  const startDay = { weekday: weekday(dayOf(startWall)), nth: 0 };
  const full = { ...rule };
  if (bymonthday.length + byyearday.length + byday.length > 0) return full;
  if (freq === "YEARLY" && byweekno.length === 0) {
    full.bymonthday = [day];
    if (bymonth.length === 0) full.bymonth = [month];
  }
  if (freq === "MONTHLY") full.bymonthday = [day];
  if (freq === "WEEKLY" || byweekno.length > 0) full.byday = [startDay];
  return full;
}

/** Times within a period, relative to its day, hour or minute, in order. */
function timesWithinPeriod(rule: Recurrence): number[] {
  const { freq, byhour, byminute, bysecond, startWall } = rule;
  const { seconds } = startParts(startWall);
  const or = (given: number[], start: number): number[] => (given.length > 0 ? given : [start]);
  const hours = freq === "HOURLY" || freq === "MINUTELY" ? [0] : or(byhour, Math.floor(seconds / 3600));
  const minutes = freq === "MINUTELY" ? [0] : or(byminute, Math.floor(seconds / 60) % 60);
  const times: number[] = [];
  for (const hour of hours)
    for (const minute of minutes)
      for (const second of or(bysecond, seconds % 60)) times.push(hour * HOUR_US + minute * MINUTE_US + second * SECOND_US);
  return times;
}

/** Week 1 is the first week with at least four days in the year; negative numbers count from the year's last week. */
function isInWeeks(days: number, weeks: readonly number[], wkst: number): boolean {
  const start = days - ((weekday(days) - wkst + 7) % 7);
  const { year } = civilDate(start + 3);
  const first = dayNumber(year, 1, 1);
  const number = Math.floor((start + 3 - first) / 7) + 1;
  const firstMiddle = first + ((((wkst + 3) % 7) - weekday(first) + 7) % 7);
  const count = Math.floor((dayNumber(year + 1, 1, 1) - 1 - firstMiddle) / 7) + 1;
  return weeks.includes(number) || weeks.includes(number - count - 1);
}

/** The fires of a rule in a zone, limited by COUNT and UNTIL. */
export class RecurrenceFires implements Fires {
  readonly timezone: string;
  readonly #rule: Recurrence;
  readonly #times: RecurringTimes;
  readonly #zone: Zone;
  readonly #startUs: number;
  readonly #endUs: number;
  #counted: number[] | null = null;

  constructor(rule: Recurrence, zone: Zone) {
    this.#rule = rule;
    this.#times = new RecurringTimes(rule);
    this.#zone = zone;
    this.timezone = zone.name;
    this.#startUs = zone.momentOf(rule.startWall);
    this.#endUs = endOf(rule, zone);
  }

  after(us: number, count: number): number[] {
    const { count: counted } = this.#rule;
    if (counted === null) return this.#search(Math.max(us, this.#startUs - 1), count);
    this.#counted ??= this.#search(this.#startUs - 1, counted);
    const start = this.#counted.findIndex((fire) => fire > us);
    return start < 0 ? [] : this.#counted.slice(start, start + count);
  }

  #search(us: number, count: number): number[] {
    this.#times.restart();
    const found: number[] = [];
    // The horizon is measured from the last fire found, so that a rule over many years is not cut off.
    for (let from = us; found.length < count; ) {
      const more = momentsOf(this.#times, this.#zone, from, count - found.length, Math.min(from + HORIZON_US, this.#endUs));
      if (more.length === 0) break;
      for (const fire of more) found.push(fire);
      from = more.at(-1) ?? from;
    }
    return found;
  }
}

/** The first moment that UNTIL excludes. A date includes its whole day. */
function endOf(rule: Recurrence, zone: Zone): number {
  const { until } = rule;
  if (until === null) return Number.MAX_SAFE_INTEGER;
  if (until.form === "moment") return until.us + 1;
  return until.form === "wall" ? zone.momentOf(until.us) + 1 : zone.momentOf(until.us + DAY_US);
}
