/** Reads text/event-stream (the WHATWG format): bytes in, frames out. */

/** One frame. `id` is null if the frame has none. */
export interface Frame {
  event: string;
  id: string | null;
  data: string;
}

/** Larger frames are never valid: the largest holds an artifact of 1 MB, escaped. */
const FRAME_CHARS_MAX = 16_000_000;

/**
 * Splits a body into frames, however its bytes were cut. Comments (keep-alives) yield no frame.
 * @throws RangeError for a frame without end.
 */
export async function* readFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let rest = "";
  let frame: Frame = { event: "", id: null, data: "" };
  let lines = 0;
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > FRAME_CHARS_MAX) throw new RangeError("a frame of the event stream has no end");
    // A carriage return at the very end may be half of a CRLF, so it stays for the next chunk.
    const complete = /^[\s\S]*(?:\n|\r(?!$))/.exec(rest)?.[0] ?? "";
    rest = rest.slice(complete.length);
    for (const line of complete.split(/\r\n|\n|\r/).slice(0, -1)) {
      if (line !== "") {
        lines += readLine(line, frame) ? 1 : 0;
        continue;
      }
      if (lines > 0) yield { ...frame, event: frame.event || "message", data: frame.data.slice(0, -1) };
      frame = { event: "", id: null, data: "" };
      lines = 0;
    }
  }
}

/** Adds one line to the frame; true for a data line, because a frame without data is dropped. */
function readLine(line: string, frame: Frame): boolean {
  const colon = line.indexOf(":");
  const field = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
  if (field === "event") frame.event = value;
  if (field === "id" && !value.includes("\0")) frame.id = value;
  if (field === "data") frame.data += `${value}\n`;
  return field === "data";
}
