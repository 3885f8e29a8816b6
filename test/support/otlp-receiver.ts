/** A collector of traces for tests: takes OTLP over HTTP, and parses its protobuf by the field numbers of the OTLP schema. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A message of protobuf: the values of each field by its number, bytes for everything with a length. */
export type Message = Map<number, (bigint | Buffer)[]>;

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** 1 internal, 5 consumer. */
  kind: number;
  startUs: number;
  endUs: number;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  links: { traceId: string; spanId: string }[];
  /** 0 unset, 2 error. */
  status: { code: number; message: string };
  resource: Record<string, unknown>;
}

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH = 2;
const FIXED_32 = 5;

export function parse(bytes: Buffer): Message {
  const message: Message = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error("a field is longer than its message");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const value = (wire: number): bigint | Buffer => {
    if (wire === VARINT) return varint();
    if (wire === FIXED_64) return take(8).readBigUInt64LE();
    if (wire === LENGTH) return take(Number(varint()));
    if (wire === FIXED_32) return BigInt(take(4).readUInt32LE());
    throw new Error(`protobuf has no wire type ${wire}`);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = tag >> 3;
    message.set(field, [...(message.get(field) ?? []), value(tag & 7)]);
  }
  return message;
}

const messages = (message: Message, field: number): Message[] =>
  (message.get(field) ?? []).map((value) => parse(value as Buffer));
const bytesOf = (message: Message, field: number): Buffer =>
  (message.get(field)?.at(-1) as Buffer | undefined) ?? Buffer.alloc(0);
const textOf = (message: Message, field: number): string => bytesOf(message, field).toString("utf8");
const numberOf = (message: Message, field: number): bigint => (message.get(field)?.at(-1) as bigint | undefined) ?? 0n;

/** KeyValue and AnyValue of common.proto. */
function attributesOf(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const [value = new Map() as Message] = messages(pair, 2);
      if (value.has(2)) return [textOf(pair, 1), numberOf(value, 2) === 1n];
      if (value.has(3)) return [textOf(pair, 1), Number(BigInt.asIntN(64, numberOf(value, 3)))];
      if (value.has(4)) {
        const double = Buffer.alloc(8);
        double.writeBigUInt64LE(numberOf(value, 4));
        return [textOf(pair, 1), double.readDoubleLE()];
      }
      return [textOf(pair, 1), textOf(value, 1)];
    }),
  );
}

/** Span of trace.proto. */
function spanOf(span: Message, resource: Record<string, unknown>): ReceivedSpan {
  const [status = new Map() as Message] = messages(span, 15);
  return {
    traceId: bytesOf(span, 1).toString("hex"),
    spanId: bytesOf(span, 2).toString("hex"),
    parentSpanId: bytesOf(span, 4).toString("hex"),
    name: textOf(span, 5),
    kind: Number(numberOf(span, 6)),
    startUs: Number(numberOf(span, 7) / 1_000n),
    endUs: Number(numberOf(span, 8) / 1_000n),
    attributes: attributesOf(span, 9),
    events: messages(span, 11).map((event) => ({ name: textOf(event, 2), attributes: attributesOf(event, 3) })),
    links: messages(span, 13).map((link) => ({
      traceId: bytesOf(link, 1).toString("hex"),
      spanId: bytesOf(link, 2).toString("hex"),
    })),
    status: { code: Number(numberOf(status, 3)), message: textOf(status, 2) },
    resource,
  };
}

/** ExportTraceServiceRequest, with its ResourceSpans and ScopeSpans. */
function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(parse(body), 1).flatMap((group) => {
    const [resource = new Map() as Message] = messages(group, 1);
    const attributes = attributesOf(resource, 1);
    return messages(group, 2).flatMap((scope) => messages(scope, 2).map((span) => spanOf(span, attributes)));
  });
}

export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** "hang" takes requests and never answers, "refuse" answers 400, "reject" takes all spans of a request but three. */
  mode: "take" | "hang" | "refuse" | "reject" = "take";
  requests = 0;
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();

  private constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        this.requests += 1;
        if (
          this.mode === "take" &&
          (request.url !== "/v1/traces" || request.headers["content-type"] !== "application/x-protobuf")
        )
          response.writeHead(404).end();
        else if (this.mode === "take") {
          this.spans.push(...spansOf(Buffer.concat(parts)));
          response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
        } else if (this.mode === "refuse") response.writeHead(400).end();
        else if (this.mode === "reject")
          response.writeHead(200, { "content-type": "application/x-protobuf" }).end("\x0a\x0d\x08\x03\x12\x09too large");
        for (const look of this.#waiting) look();
      });
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves once requests have brought what the function looks for. */
  async until<T>(look: (spans: readonly ReceivedSpan[]) => T | undefined): Promise<T> {
    return await new Promise((resolve) => {
      const check = () => {
        const found = look(this.spans);
        if (found === undefined) return;
        this.#waiting.delete(check);
        resolve(found);
      };
      this.#waiting.add(check);
      check();
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
