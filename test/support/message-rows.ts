/** The rows behind messages of the stream, where a test gives only some. */
import type { MessageRows } from "#gateway/stream/stream-ring";

/** By default, no row exists, and reads of many texts or subjects leave out all of them, so that each is read by itself. */
export function messageRows(given: Partial<MessageRows> = {}): MessageRows {
  const none = { texts: () => new Map(), subjects: () => new Map(), eventNames: () => new Map() };
  return { render: () => null, subject: () => null, ...none, ...given };
}
