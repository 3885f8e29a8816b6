import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { currentScope } from "../execution/active-run.ts";
import type { Gauges } from "../execution/gauges.ts";
import type { PrintedLines, StreamName } from "./printed-lines.ts";

const CAPTURED = Symbol.for("millrace.streams");

const STREAMS: Record<number, StreamName> = { 1: "stdout", 2: "stderr" };

export interface StreamCapture {
  /** Print to the terminal as well. */
  alsoPrint?: boolean;
  /** While these report a backlog, writers wait until more can be sent. */
  gauges?: Gauges;
}

/**
 * After this call, writes of code inside a run to process.stdout and process.stderr, or to their descriptors by node:fs, go to
 * the run's log line by line, if its flow has `logPrints` on (the default). Elsewhere they are printed as before.
 */
export function captureStreams(capture: StreamCapture = {}): void {
  const marked = process as typeof process & { [CAPTURED]?: true };
  if (marked[CAPTURED] === true) return;
  marked[CAPTURED] = true;
  captureStream(process.stdout, "stdout", capture);
  captureStream(process.stderr, "stderr", capture);
  // A script owns its terminal, so writes to descriptors stay there.
  if (capture.alsoPrint !== true) captureDescriptors();
}

/** Destination of the current code's output; undefined if it is printed. */
function linesOf(name: StreamName): PrintedLines | undefined {
  const scope = currentScope();
  return scope?.run.logPrints === true ? scope.run.printed.stream(scope, name) : undefined;
}

type WriteCallback = (error?: Error | null) => void;
type WriteArguments = [chunk?: unknown, encoding?: BufferEncoding | WriteCallback, callback?: WriteCallback];

type Originals = Record<"write" | "end", (...values: WriteArguments) => boolean>;

function captureStream(stream: NodeJS.WriteStream, name: StreamName, { alsoPrint = false, gauges }: StreamCapture): void {
  const original = { write: stream.write.bind(stream), end: stream.end.bind(stream) } as unknown as Originals;
  let waiting: Promise<void> | null = null;
  const done = (callback: WriteCallback | undefined): boolean => {
    if (gauges?.behind !== true) {
      if (callback !== undefined) process.nextTick(callback, null);
      return true;
    }
    waiting ??= gauges.caughtUp().then(() => {
      waiting = null;
      stream.emit("drain");
    });
    if (callback !== undefined) void waiting.then(() => callback(null));
    return false;
  };
  const captured =
    (method: "write" | "end") =>
    (...values: WriteArguments): boolean => {
      const lines = linesOf(name);
      const [chunk] = values;
      const bytes = bytesOf(chunk, values[1]);
      const ends = method === "end" && (chunk === undefined || chunk === null || typeof chunk === "function");
      // The original method rejects invalid arguments.
      if (lines === undefined || (bytes === null && !ends)) return original[method](...values);
      if (bytes !== null) lines.write(bytes);
      // The stream belongs to the whole engine: a run cannot end it.
      if (alsoPrint) return original.write(...(bytes === null ? [""] : values));
      return done(values.find((value): value is WriteCallback => typeof value === "function"));
    };
  Object.assign(stream, { write: captured("write"), end: captured("end") });
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer | null {
  if (typeof chunk === "string") return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  if (!ArrayBuffer.isView(chunk)) return null;
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/** Some loggers write to the descriptors 1 and 2 with node:fs. */
function captureDescriptors(): void {
  const { write, writeSync } = fs;
  const take = (descriptor: unknown, values: unknown[]): number | null => {
    const name = STREAMS[Number(descriptor)];
    const lines = name === undefined ? undefined : linesOf(name);
    const bytes = lines === undefined ? null : writtenBytes(values);
    if (lines === undefined || bytes === null) return null;
    lines.write(bytes);
    return bytes.length;
  };
  const capturedSync = (descriptor: number, ...values: unknown[]): number =>
    take(descriptor, values) ?? (writeSync as (...all: unknown[]) => number)(descriptor, ...values);
  const captured = (descriptor: number, ...values: unknown[]): void => {
    const callback = values.at(-1);
    const length = typeof callback === "function" ? take(descriptor, values) : null;
    if (length === null) (write as (...all: unknown[]) => void)(descriptor, ...values);
    else process.nextTick(callback as () => void, null, length, values[0]);
  };
  // util.promisify reads its names from the function's properties.
  Object.defineProperties(captured, Object.getOwnPropertyDescriptors(write));
  Object.assign(fs, { write: captured, writeSync: capturedSync });
  syncBuiltinESMExports();
}

/** The bytes that fs.write would write: of a text, or of a part of a buffer given by numbers or by an object. */
function writtenBytes([data, second, third]: unknown[]): Buffer | null {
  const bytes = bytesOf(data, third);
  if (bytes === null || typeof data === "string") return bytes;
  const part = (typeof second === "object" && second !== null ? second : { offset: second, length: third }) as Record<
    "offset" | "length",
    unknown
  >;
  const from = typeof part.offset === "number" ? part.offset : 0;
  return typeof part.length === "number" ? bytes.subarray(from, from + part.length) : bytes.subarray(from);
}
