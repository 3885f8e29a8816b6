/**
 * Slices of an engine's report: as much of it as is committed at once. A slice ends between two events, because an event is
 * applied whole with its number; one event that is larger than a slice may be is a slice of its own.
 */
import type { Static } from "typebox";
import { type ReportEvent, ReportRequest } from "./engine.ts";
import { parseJson } from "./json.ts";
import { REPORT_SLICE_BYTES_MAX, REPORT_SLICE_ROWS_MAX } from "./limits.ts";
import { validate } from "./validate.ts";

/** A report that was checked whole and cut up; each slice is the JSON text of an array of events. */
export interface SlicedReport {
  engine_id: string;
  run_id: number;
  lease: number | null;
  /** Events in all slices. */
  count: number;
  slices: string[];
}

/** Rows an event becomes. Log lines are stored in blocks, so their size limits them, not their number. */
function rowsOf(event: ReportEvent): number {
  // A move is the row of the task run and the event that tells of it.
  return event.kind === "task_run_transition" ? 2 : 1;
}

/** Where each slice ends: the index behind its last event. `bytesOf` is the size of an event's JSON text. */
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

/** A sliced report, or the refusal (protocol/errors.ts) of what cannot be taken and what it tells: a value that survives postMessage. */
export type Sliced = { ok: true; report: SlicedReport } | { ok: false; code: "bad_json" | "invalid"; detail: string };

/** Parses, checks and cuts up a whole report: for large ones, away from the thread that decides. */
export function sliceReport(text: string): Sliced {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    return { ok: false, code: "bad_json", detail: cause instanceof Error ? cause.message : "unreadable" };
  }
  const checked = validate(ReportRequest, value);
  if (!checked.ok) return { ok: false, code: "invalid", detail: checked.error };
  return { ok: true, report: cutUp(checked.value) };
}

function cutUp({ engine_id, run_id, lease, events }: Static<typeof ReportRequest>): SlicedReport {
  const texts = events.map((event) => JSON.stringify(event));
  let from = 0;
  const slices = sliceEnds(events, (index) => (texts[index]?.length ?? 0) + 1).map((end) => {
    const slice = `[${texts.slice(from, end).join(",")}]`;
    from = end;
    return slice;
  });
  return { engine_id, run_id, lease: lease ?? null, count: events.length, slices };
}
