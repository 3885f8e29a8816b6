/**
 * Texts whose length user code decides: whatever exceeds a limit is truncated or counted, with a note, so that the rest of
 * the report is not lost.
 */

import { DETAILS_BYTES_MAX, MESSAGE_LENGTH_MAX } from "#protocol/limits";
import { exceedsBytes } from "#protocol/values/json-size";

/** The text, or its beginning and a note of its length if it exceeds the limit. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const note = `… (cut: ${text.length} characters)`;
  // The cut may have split a surrogate pair.
  return text.slice(0, lengthMax - note.length).toWellFormed() + note;
}

/** Details of a state; beyond the limit, only their size and the beginning of their traceback, the most useful part. */
export function boundedDetails(details: Record<string, unknown>): Record<string, unknown> {
  if (isEmpty(details)) return details;
  const text = JSON.stringify(details);
  if (!exceedsBytes(text, DETAILS_BYTES_MAX)) return details;
  const { traceback } = details;
  const kept = typeof traceback === "string" ? { traceback: cutText(traceback, MESSAGE_LENGTH_MAX) } : {};
  return { details_bytes: Buffer.byteLength(text), ...kept };
}

/** Most moves have no details. */
function isEmpty(details: Record<string, unknown>): boolean {
  for (const _ in details) return false;
  return true;
}
