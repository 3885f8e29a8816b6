/** Reads text/event-stream as it arrives; the server ends lines with a line feed. */

export interface Frame {
  event: string;
  /** The stream number; null if the frame has none. */
  id: number | null;
  data: string;
}

export class FrameReader {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** The frames completed by these bytes; comments yield none. */
  read(bytes: Uint8Array): Frame[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const parts = this.#rest.split("\n\n");
    this.#rest = parts.pop() ?? "";
    return parts.map(parseFrame).filter((frame) => frame !== null);
  }
}

function parseFrame(text: string): Frame | null {
  const frame: Frame = { event: "", id: null, data: "" };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(": ");
    const value = line.slice(colon + 2);
    if (line.startsWith("event: ")) frame.event = value;
    else if (line.startsWith("id: ")) frame.id = Number(value);
    else if (line.startsWith("data: ")) frame.data += value;
  }
  return frame.event === "" ? null : frame;
}
