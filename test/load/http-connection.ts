/**
 * One keep-alive connection with one request at a time, like that of an engine or client. Opens on first use, and again if
 * the server closed it while idle.
 */
import { connect, type Socket } from "node:net";
import { joinChunks, parseHead, type ResponseHead } from "./response-head.ts";

/** Servers close idle connections after some seconds; a connection idle for longer is reopened to avoid the race. */
const IDLE_REOPEN_MS = 4_000;
/** Fits a run record, the largest common answer; longer answers are joined from several reads. */
const READ_BYTES = 4_096;

export interface Endpoint {
  host: string;
  port: number;
  /** Sent as bearer token if the server requires one. */
  token: string | null;
}

export interface Answer {
  status: number;
  /** Body text; empty unless requested. */
  body: string;
}

interface Pending {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
  wantsBody: boolean;
}

export class ConnectionClosed extends Error {}

export class HttpConnection {
  /** When the current request was sent (performance.now), 0 without one. */
  sentAt = 0;
  /** Requests so far. */
  sent = 0;
  readonly #endpoint: Endpoint;
  readonly #headLines: string;
  readonly #readBytes: number;
  #socket: Socket | null = null;
  #pending: Pending | null = null;
  #received: Buffer | null = null;
  #lastUse = 0;
  #closed = false;

  constructor(endpoint: Endpoint, readBytes = READ_BYTES) {
    this.#endpoint = endpoint;
    this.#readBytes = readBytes;
    const authorization = endpoint.token === null ? "" : `authorization: Bearer ${endpoint.token}\r\n`;
    this.#headLines = `host: ${endpoint.host}:${endpoint.port}\r\n${authorization}`;
  }

  /** Opens the connection if it is not open. Rejects with the connect error. */
  async open(): Promise<void> {
    if (this.#closed) throw new ConnectionClosed("closed by the load generator");
    if (this.#socket !== null && performance.now() - this.#lastUse < IDLE_REOPEN_MS) return;
    this.#socket?.destroy();
    const socket = await this.#connect();
    if (this.#closed) socket.destroy();
    this.#socket = socket;
    this.#lastUse = performance.now();
  }

  async get(path: string): Promise<Answer> {
    await this.open();
    return this.#send(`GET ${path} HTTP/1.1\r\n${this.#headLines}\r\n`, null, true);
  }

  /** `json` must be ASCII (see asciiJson), because its length in characters is sent as its length in bytes. */
  async post(path: string, json: string, wantsBody = false): Promise<Answer> {
    if (this.#socket === null || performance.now() - this.#lastUse >= IDLE_REOPEN_MS) await this.open();
    return this.#send(this.#postHead(path, json.length) + json, null, wantsBody);
  }

  /** Posts `start` followed by prepared bytes, for bodies too large to build each time. */
  async postBytes(path: string, start: string, bytes: Buffer): Promise<Answer> {
    await this.open();
    return this.#send(this.#postHead(path, start.length + bytes.length) + start, bytes, true);
  }

  /** Aborts the current request; the next request reopens the connection. */
  cut(): void {
    this.#socket?.destroy();
    this.#fail(new ConnectionClosed("cut: no answer in time"));
  }

  /** Closes the connection permanently. */
  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
    this.#fail(new ConnectionClosed("closed by the load generator"));
  }

  #postHead(path: string, bodyBytes: number): string {
    return `POST ${path} HTTP/1.1\r\n${this.#headLines}content-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`;
  }

  #send(text: string, bytes: Buffer | null, wantsBody: boolean): Promise<Answer> {
    const socket = this.#socket;
    if (socket === null) return Promise.reject(new ConnectionClosed("not open"));
    if (this.#pending !== null) return Promise.reject(new Error("a connection carries one request at a time"));
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#pending = { resolve, reject, wantsBody };
    });
    this.sentAt = performance.now();
    this.sent += 1;
    if (bytes === null) {
      socket.write(text, "latin1");
    } else {
      socket.cork();
      socket.write(text, "latin1");
      socket.write(bytes);
      socket.uncork();
    }
    return answer;
  }

  #connect(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: this.#endpoint.host,
        port: this.#endpoint.port,
        noDelay: true,
        // A fixed buffer and a callback avoid the stream machinery, about a quarter of the generator's CPU per request.
        onread: {
          buffer: Buffer.allocUnsafeSlow(this.#readBytes),
          callback: (size, buffer) => {
            this.#onBytes(Buffer.from(buffer.buffer, buffer.byteOffset, size));
            return true;
          },
        },
      });
      socket.once("connect", () => {
        socket.removeListener("error", reject);
        socket.on("error", (error) => this.#onGone(socket, error));
        resolve(socket);
      });
      socket.once("error", reject);
      socket.once("close", () => this.#onGone(socket, new ConnectionClosed("closed by the server")));
    });
  }

  #onGone(socket: Socket, error: Error): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#fail(error);
  }

  #fail(error: Error): void {
    const pending = this.#pending;
    this.#socket = null;
    this.#pending = null;
    this.#received = null;
    this.sentAt = 0;
    pending?.reject(error);
  }

  #onBytes(chunk: Buffer): void {
    // The read buffer is reused for the next read, so copy only what must be kept.
    const bytes = this.#received === null ? chunk : Buffer.concat([this.#received, chunk]);
    try {
      const head = parseHead(bytes);
      const body = head === null ? null : bodyOf(head, bytes);
      if (head === null || body === null) {
        this.#received = this.#received === null ? Buffer.from(bytes) : bytes;
      } else {
        this.#finish(head, body);
      }
    } catch (error) {
      this.#socket?.destroy();
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #finish(head: ResponseHead, body: Buffer): void {
    const pending = this.#pending;
    this.#received = null;
    this.#pending = null;
    this.sentAt = 0;
    this.#lastUse = performance.now();
    if (head.closes) {
      this.#socket?.destroy();
      this.#socket = null;
    }
    // The reason of a refusal is always read: refusals are rare, and worth reporting.
    const wanted = pending !== null && (pending.wantsBody || head.status >= 300);
    pending?.resolve({ status: head.status, body: wanted ? body.toString("utf8") : "" });
  }
}

function bodyOf(head: ResponseHead, bytes: Buffer): Buffer | null {
  if (head.length.kind === "chunked") return joinChunks(bytes, head.bodyStart);
  if (head.length.kind === "until_close") throw new Error("an answer without a length");
  const end = head.bodyStart + head.length.bytes;
  return bytes.length < end ? null : bytes.subarray(head.bodyStart, end);
}

/** JSON text with every character outside ASCII escaped. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
