/**
 * Slices of an engine's report: the parts that are committed at once. A slice ends between two events, because an event is
 * applied whole with its number; an event larger than a slice is a slice of its own.
 */
import { isUtf8 } from "node:buffer";
import type { Static } from "typebox";
import { REPORT_SLICE_BYTES_MAX, REPORT_SLICE_ROWS_MAX } from "../limits.ts";
import { type ReportEvent, ReportRequest } from "../records/engine.ts";
import { parseJson } from "../values/json.ts";
import { type JsonLimits, SENT_JSON } from "../values/json-scan.ts";
import { validate } from "../values/validate.ts";
import { scanItems } from "./item-scan.ts";

/** A report that was checked whole and sliced. Its text is in memory shared by all threads, so it exists once. */
export interface SlicedReport {
  engine_id: string;
  run_id: number;
  lease: number | null;
  /** Events in all slices. */
  count: number;
  /** The text as received, UTF-8. */
  text: SharedArrayBuffer;
  /** Offsets in the text: the first byte of a slice's first event, and the byte after its last event. */
  slices: [from: number, to: number][];
}

/** Rows that an event becomes. Log lines are stored in blocks, so they are limited by size, not by number. */
function rowsOf(event: ReportEvent): number {
  // A move is the row of the run or task run and its event.
  return event.kind === "task_run_transition" || event.kind === "run_transition" || event.kind === "park" ? 2 : 1;
}

/** The end of each slice: the index after its last event. `bytesOf` is the size of an event's JSON text. */
export function sliceEnds(events: readonly ReportEvent[], bytesOf: (index: number) => number): number[] {
  const ends: number[] = [];
  let rows = 0;
  let bytes = 0;
  let index = 0;
  for (const event of events) {
    const moreRows = rowsOf(event);
    const moreBytes = bytesOf(index);
    if (rows > 0 && (rows + moreRows > REPORT_SLICE_ROWS_MAX || bytes + moreBytes > REPORT_SLICE_BYTES_MAX)) {
      ends.push(index);
      rows = 0;
      bytes = 0;
    }
    rows += moreRows;
    bytes += moreBytes;
    index += 1;
  }
  ends.push(events.length);
  return ends;
}

/** A sliced report, or the refusal (protocol/errors.ts) with its detail: a value that survives postMessage. */
type Sliced = { ok: true; report: SlicedReport } | { ok: false; code: "bad_json" | "invalid"; detail: string };

type Head = Omit<Static<typeof ReportRequest>, "events">;

/** Reports may hold any number of values: large reports are parsed by readers, and by the core in slices. */
const SENT_REPORT: JsonLimits = { ...SENT_JSON, values: Number.POSITIVE_INFINITY };

/** The events of a slice. `limits` is for text that was not checked before. */
export function eventsOfSlice(
  { text }: Pick<SlicedReport, "text">,
  [from, to]: [number, number],
  limits: JsonLimits | null = null,
): ReportEvent[] {
  return parseJson(`[${Buffer.from(text, from, to - from).toString()}]`, limits) as ReportEvent[];
}

/** Checks and slices a whole report, part by part: for large reports, off the core. */
export function sliceReport(text: SharedArrayBuffer): Sliced {
  const bytes = Buffer.from(text);
  if (!isUtf8(bytes)) return { ok: false, code: "bad_json", detail: "it is not UTF-8" };
  const scanned = scanItems(bytes, "events");
  if (scanned === null) return refusalOf(bytes);
  try {
    const checked = validate(ReportRequest, parseJson(scanned.head, SENT_REPORT));
    if (!checked.ok) return { ok: false, code: "invalid", detail: checked.error };
    const { engine_id, run_id, lease } = checked.value;
    const slices: SlicedReport["slices"] = [];
    for (const [first, end] of partsOf(scanned.bounds)) {
      const refused = addSlices(slices, text, checked.value, scanned.bounds, first, end);
      if (refused !== null) return { ok: false, code: "invalid", detail: refused };
    }
    return { ok: true, report: { engine_id, run_id, lease: lease ?? null, count: scanned.bounds.length / 2, text, slices } };
  } catch (cause) {
    if (cause instanceof SyntaxError) return refusalOf(bytes);
    throw cause;
  }
}

/** Indexes of events that are parsed together: as many as one slice may hold. */
function* partsOf(bounds: readonly number[]): Generator<[first: number, end: number]> {
  const count = bounds.length / 2;
  let first = 0;
  for (let index = 1; index <= count; index += 1) {
    const bytes = (bounds[2 * index + 1] ?? 0) - (bounds[2 * first] ?? 0);
    if (index < count && index - first < REPORT_SLICE_ROWS_MAX && bytes <= REPORT_SLICE_BYTES_MAX) continue;
    yield [first, index];
    first = index;
  }
}

/** Checks the events of a part and adds their slices; returns the error of the first invalid event, or null. */
function addSlices(
  slices: SlicedReport["slices"],
  text: SharedArrayBuffer,
  head: Head,
  bounds: readonly number[],
  first: number,
  end: number,
): string | null {
  const startOf = (index: number): number => bounds[2 * (first + index)] ?? 0;
  const endOf = (index: number): number => bounds[2 * (first + index) + 1] ?? 0;
  const count = end - first;
  const events = eventsOfSlice({ text }, [startOf(0), endOf(count - 1)], SENT_REPORT);
  if (events.length !== count) throw new SyntaxError("the events cannot be told apart");
  const checked = validate(ReportRequest, { ...head, events });
  if (!checked.ok) return checked.error.replace(/^events\[(\d+)\]/, (_, index: string) => `events[${first + Number(index)}]`);
  let from = 0;
  for (const to of sliceEnds(events, (index) => endOf(index) - startOf(index) + 1)) {
    slices.push([startOf(from), endOf(to - 1)]);
    from = to;
  }
  return null;
}

/** The error in a text that could not be scanned. */
function refusalOf(bytes: Buffer): Sliced {
  let value: unknown;
  try {
    value = parseJson(bytes.toString(), SENT_REPORT);
  } catch (cause) {
    return { ok: false, code: "bad_json", detail: cause instanceof Error ? cause.message : "unreadable" };
  }
  const checked = validate(ReportRequest, value);
  return { ok: false, code: "invalid", detail: checked.ok ? "events: expected a list" : checked.error };
}
