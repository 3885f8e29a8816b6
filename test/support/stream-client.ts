/** A reader of the event stream on a separate socket, so that a test can stop reading. */
import { connect, type Socket } from "node:net";

export interface Message {
  id: number | null;
  event: string;
  data: Record<string, unknown>;
}

export class StreamClient {
  readonly messages: Message[] = [];
  readonly socket: Socket;
  head = "";
  ended = false;
  #text = "";
  #heard: (() => void)[] = [];

  constructor(port: number, path = "/api/stream", headers = "") {
    this.socket = connect(port, "127.0.0.1");
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    this.socket.setEncoding("utf8");
    this.socket.on("data", (text: string) => this.#take(text));
    this.socket.on("close", () => {
      this.ended = true;
      this.#wake();
    });
  }

  async until(condition: (client: this) => boolean): Promise<void> {
    while (!condition(this)) await new Promise<void>((resolve) => this.#heard.push(resolve));
  }

  #take(text: string): void {
    this.#text += text;
    if (this.head === "") {
      const end = this.#text.indexOf("\r\n\r\n");
      if (end === -1) return;
      this.head = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 4);
    }
    this.#takeChunks();
    this.#wake();
  }

  #body = "";

  /** Strict: a chunk counts only when it is complete. */
  #takeChunks(): void {
    for (;;) {
      const line = this.#text.indexOf("\r\n");
      if (line === -1) return;
      const size = Number.parseInt(this.#text.slice(0, line), 16);
      if (Number.isNaN(size) || this.#text.length < line + 2 + size + 2) return;
      this.#body += this.#text.slice(line + 2, line + 2 + size);
      this.#text = this.#text.slice(line + 2 + size + 2);
      if (size === 0) this.ended = true;
      const frames = this.#body.split("\n\n");
      this.#body = frames.pop() ?? "";
      for (const frame of frames) if (!frame.startsWith(":")) this.messages.push(parseFrame(frame));
    }
  }

  #wake(): void {
    for (const resolve of this.#heard.splice(0)) resolve();
  }
}

function parseFrame(text: string): Message {
  const fields = new Map(text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
  const id = fields.get("id");
  return {
    id: id === undefined ? null : Number(id),
    event: fields.get("event") ?? "",
    data: JSON.parse(fields.get("data") ?? "null"),
  };
}
