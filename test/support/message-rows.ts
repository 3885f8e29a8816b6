/** The rows behind messages of the stream, where a test gives only some. */
import type { MessageRows } from "#gateway/stream/stream-ring";

/** By default, no row exists and each row is read by itself. */
export function messageRows(given: Partial<MessageRows> = {}): MessageRows {
  return { render: () => null, subject: () => null, eventName: () => null, together: null, ...given };
}
