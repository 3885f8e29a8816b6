/** The measured records, and the checks they pass before they are used. */

/** One day at Seattle-Tacoma airport. */
export interface Day {
  /** YYYY-MM-DD */
  date: string;
  /** 1 to 12 */
  month: number;
  precipitationMm: number;
  maxC: number;
  minC: number;
  windMs: number;
  weather: string;
}

/** One domestic flight in the United States. */
export interface Flight {
  /** Local time of departure, hour 0 to 23. */
  hour: number;
  origin: string;
  destination: string;
  /** Minutes late on arrival; negative is early. */
  delayMin: number;
}

/** The usable records, and the number of unusable ones by reason. */
export interface Cleaned<T> {
  records: T[];
  dropped: Record<string, number>;
}

/** A delay of a day or more is an error in the record. */
const DELAY_MAX_MIN = 24 * 60;

export function cleanDays(rows: readonly Record<string, string>[]): Cleaned<Day> {
  const seen = new Set<string>();
  return clean(rows, (row) => {
    const { date = "", weather = "" } = row;
    const month = Number(date.slice(5, 7));
    if (!/^\d{4}-\d{2}-\d{2}$/.test(date) || month < 1 || month > 12) return "date is not a day";
    if (seen.has(date)) return "day is there twice";
    const [precipitationMm, maxC, minC, windMs] = ["precipitation", "temp_max", "temp_min", "wind"].map((name) =>
      figure(row[name]),
    );
    if (precipitationMm === undefined || maxC === undefined || minC === undefined || windMs === undefined)
      return "figure is missing";
    if (precipitationMm < 0 || windMs < 0 || maxC < minC) return "figures contradict each other";
    seen.add(date);
    return { date, month, precipitationMm, maxC, minC, windMs, weather };
  });
}

export function cleanFlights(rows: readonly Record<string, unknown>[]): Cleaned<Flight> {
  return clean(rows, ({ date, origin, destination, delay }) => {
    const hour = typeof date === "string" ? Number(/ (\d{2}):\d{2}$/.exec(date)?.[1] ?? Number.NaN) : Number.NaN;
    if (!(hour >= 0 && hour <= 23)) return "time of departure is missing";
    if (typeof origin !== "string" || typeof destination !== "string" || origin === "" || destination === "")
      return "airport is missing";
    if (origin === destination) return "flight leads nowhere";
    if (typeof delay !== "number" || !Number.isFinite(delay)) return "delay is missing";
    if (Math.abs(delay) > DELAY_MAX_MIN) return "delay is not possible";
    return { hour, origin, destination, delayMin: delay };
  });
}

/** The number in a text; undefined for empty text. */
function figure(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** `read` returns a record, or the reason why there is none. */
function clean<Row, T extends object>(rows: readonly Row[], read: (row: Row) => T | string): Cleaned<T> {
  const records: T[] = [];
  const dropped: Record<string, number> = {};
  for (const row of rows) {
    const record = read(row);
    if (typeof record === "string") dropped[record] = (dropped[record] ?? 0) + 1;
    else records.push(record);
  }
  return { records, dropped };
}
