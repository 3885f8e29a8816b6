/**
 * The runs of a batch, found in its text without parsing it. The core parses them one by one, some hundred in a step, so that
 * no step grows with the batch; of a large batch, a reader thread finds them.
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { RUN_BATCH_RUNS_MAX } from "../limits.ts";
import { CreateRunsBody } from "../records/run-batch.ts";
import { parseJson } from "../values/json.ts";
import { SENT_JSON } from "../values/json-scan.ts";
import { validate } from "../values/validate.ts";
import { scanItems } from "./item-scan.ts";

/** A batch whose runs are known by their places. Its text is in memory shared by all threads, so it exists once. */
export interface SlicedBatch {
  /** The request with an empty list in place of its runs, as JSON text; not checked. */
  head: string;
  /** The text as received, UTF-8. */
  text: SharedArrayBuffer;
  /** Offset of each run in the text and of the byte after it, alternating. */
  bounds: number[];
}

type SlicedRuns = { ok: true; batch: SlicedBatch } | { ok: false; code: "bad_json" | "invalid"; detail: string };

/** Finds the runs of a batch. */
export function sliceBatch(text: SharedArrayBuffer): SlicedRuns {
  const bytes = Buffer.from(text);
  if (!isUtf8(bytes)) return { ok: false, code: "bad_json", detail: "it is not UTF-8" };
  const scanned = scanItems(bytes, "runs");
  if (scanned === null) return refusalOf(bytes);
  const { head, bounds } = scanned;
  const count = bounds.length / 2;
  if (count === 0) return { ok: false, code: "invalid", detail: "runs: expected at least 1 items" };
  if (count > RUN_BATCH_RUNS_MAX)
    return { ok: false, code: "invalid", detail: `runs: expected at most ${RUN_BATCH_RUNS_MAX} items, got ${count}` };
  return { ok: true, batch: { head, text, bounds } };
}

/** The memory of a text that a thread received as a string. */
export function sharedText(text: string): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(Buffer.byteLength(text));
  Buffer.from(memory).write(text);
  return memory;
}

export function runsIn({ bounds }: SlicedBatch): number {
  return bounds.length / 2;
}

/** The JSON text of one run. */
export function textOfRun({ text, bounds }: SlicedBatch, index: number): string {
  const from = bounds[2 * index] ?? 0;
  const to = bounds[2 * index + 1] ?? from;
  return Buffer.from(text, from, to - from).toString();
}

/** Distinguishes a repeated batch from another batch under the same Idempotency-Key. */
export function digestOf(text: SharedArrayBuffer): string {
  return createHash("sha256").update(Buffer.from(text)).digest("base64url");
}

/** The error in a text that is not an object with a list of runs. */
function refusalOf(bytes: Buffer): SlicedRuns {
  let value: unknown;
  try {
    value = parseJson(bytes.toString(), SENT_JSON);
  } catch (cause) {
    return { ok: false, code: "bad_json", detail: cause instanceof Error ? cause.message : "unreadable" };
  }
  const checked = validate(CreateRunsBody, value);
  return { ok: false, code: "invalid", detail: checked.ok ? "runs: expected array" : checked.error };
}
