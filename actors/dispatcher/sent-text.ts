/** Texts whose length user code decides: what is beyond a limit is cut or counted, and said, so that nothing else of a report is lost. */
import { exceedsBytes } from "#protocol/json-size";
import { DETAILS_BYTES_MAX, MESSAGE_LENGTH_MAX } from "#protocol/limits";

/** The beginning of a text, and how long the text was; the text itself within the limit. */
export function cutText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const note = `… (cut: ${text.length} characters)`;
  // A pair of surrogates may have been cut in two.
  return text.slice(0, lengthMax - note.length).toWellFormed() + note;
}

/** Details of a state; beyond the limit their size, and the beginning of their traceback, which says most. */
export function boundedDetails(details: Record<string, unknown>): Record<string, unknown> {
  if (isEmpty(details)) return details;
  const text = JSON.stringify(details);
  if (!exceedsBytes(text, DETAILS_BYTES_MAX)) return details;
  const { traceback } = details;
  const kept = typeof traceback === "string" ? { traceback: cutText(traceback, MESSAGE_LENGTH_MAX) } : {};
  return { details_bytes: Buffer.byteLength(text), ...kept };
}

/** Most moves say nothing more than their state. */
function isEmpty(details: Record<string, unknown>): boolean {
  for (const _ in details) return false;
  return true;
}
