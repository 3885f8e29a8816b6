/** Bodies above PARSE_ON_CORE_BYTES_MAX that a reader thread checks and slices, by the command they are of. */
import { digestOf, type SlicedBatch, sliceBatch } from "./batch-slices.ts";
import type { CommandKind } from "./command.ts";
import { type SlicedReport, sliceReport } from "./report-slices.ts";

/**
 * The body for the core, or the refusal (protocol/errors.ts) with its detail: a value that survives postMessage. `digest`
 * stands for the text in the fingerprint of a request with an Idempotency-Key; empty where the route takes none.
 */
export type SlicedBody =
  | { ok: true; body: SlicedReport | SlicedBatch; digest: string }
  | { ok: false; code: "bad_json" | "invalid"; detail: string };

const SLICERS: Partial<Record<CommandKind, (text: SharedArrayBuffer) => SlicedBody>> = {
  Report: (text) => {
    const sliced = sliceReport(text);
    return sliced.ok ? { ok: true, body: sliced.report, digest: "" } : sliced;
  },
  CreateRuns: (text) => {
    const sliced = sliceBatch(text);
    return sliced.ok ? { ok: true, body: sliced.batch, digest: digestOf(text) } : sliced;
  },
};

export function sliceBody(kind: CommandKind, text: SharedArrayBuffer): SlicedBody {
  const slicer = SLICERS[kind];
  if (slicer === undefined) throw new Error(`bodies of ${kind} are not sliced`);
  return slicer(text);
}
