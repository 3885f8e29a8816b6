/**
 * Values as stored text: JSON, and beyond it Date, bigint, Map, Set, typed arrays, Error and undefined. Such a value is written
 * as an object with the key "$", which names its kind.
 */

const MARK = "$";

/** Errors keep their class where every process has it; others keep the name. */
const ERRORS: Readonly<Record<string, new (message: string) => Error>> = {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

const ARRAYS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const;

/**
 * A value that cannot be stored; `path` leads to the part that cannot.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, NotStorableError, step } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const open = flow("open", { durable: true }, async () => {
 *   try {
 *     await step("connect", async () => ({ close: () => undefined }));
 *     return "stored";
 *   } catch (error) {
 *     if (error instanceof NotStorableError) return error.message;
 *     throw error;
 *   }
 * });
 *
 * const { result } = await runFlow(open);
 * assert.match(result ?? "", /^the result\.close is a function/);
 * ```
 */
export class NotStorableError extends TypeError {
  override readonly name: string = "NotStorableError";
  /** Where the part is within the value: `the result.close`. */
  readonly path: string;

  constructor(path: string, what: string) {
    super(`${path} is ${what}, which cannot be stored`);
    this.path = path;
  }
}

export interface EncodeOptions {
  /** Keys of objects in alphabetical order, so that equal values have equal texts. */
  sorted?: boolean;
  /** Begins the path of an error. */
  root?: string;
}

/**
 * The text of a value.
 * @throws NotStorableError for functions, symbols, instances of classes, and values that contain themselves
 */
export function encodeValue(value: unknown, { sorted = false, root = "the result" }: EncodeOptions = {}): string {
  return JSON.stringify(new Encoder(sorted).plain(value, root));
}

/** The value of such a text. */
export function decodeValue(text: string): unknown {
  return revived(JSON.parse(text) as unknown);
}

class Encoder {
  readonly #sorted: boolean;
  /** The objects around the present one. */
  readonly #around = new Set<object>();

  constructor(sorted: boolean) {
    this.#sorted = sorted;
  }

  plain(value: unknown, path: string): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : marked("number", Object.is(value, -0) ? "-0" : `${value}`);
      case "undefined":
        return marked("undefined");
      case "bigint":
        return marked("bigint", value.toString());
      case "object":
        return value === null ? null : this.#object(value, path);
      default:
        throw new NotStorableError(path, `a ${typeof value}`);
    }
  }

  #object(value: object, path: string): unknown {
    if (this.#around.has(value)) throw new NotStorableError(path, "an object around itself");
    this.#around.add(value);
    try {
      return this.#inner(value, path);
    } finally {
      this.#around.delete(value);
    }
  }

  #inner(value: object, path: string): unknown {
    if (Array.isArray(value)) return Array.from(value, (entry, index) => this.plain(entry, `${path}[${index}]`));
    if (value instanceof Date) return marked("date", Number.isNaN(value.getTime()) ? null : value.toISOString());
    if (value instanceof Map) return marked("map", this.#entries([...value], path));
    if (value instanceof Set) return marked("set", this.#members([...value], path));
    if (value instanceof ArrayBuffer) return marked("bytes", ["ArrayBuffer", Buffer.from(value).toString("base64")]);
    if (ArrayBuffer.isView(value)) return marked("bytes", bytesOf(value, path));
    if (value instanceof Error) return marked("error", this.#error(value, path));
    const prototype = Object.getPrototypeOf(value) as object | null;
    if (prototype === null || Object.getPrototypeOf(prototype) === null) return this.#record(value, path);
    throw new NotStorableError(path, `an instance of ${value.constructor?.name || "a class"}`);
  }

  #record(value: object, path: string): unknown {
    const keys = Object.keys(value);
    if (this.#sorted) keys.sort();
    const plain: [string, unknown][] = keys.map((key) => [
      key,
      this.plain((value as Record<string, unknown>)[key], key === "" ? `${path}[""]` : `${path}.${key}`),
    ]);
    const record = Object.fromEntries(plain);
    return Object.hasOwn(record, MARK) ? marked("object", record) : record;
  }

  #entries(entries: [unknown, unknown][], path: string): unknown[] {
    const plain = entries.map(([key, entry], index) => [
      this.plain(key, `${path}, key ${index + 1} of the Map,`),
      this.plain(entry, `${path}, value ${index + 1} of the Map,`),
    ]);
    return this.#sorted ? sortedByText(plain) : plain;
  }

  #members(members: unknown[], path: string): unknown[] {
    const plain = members.map((member, index) => this.plain(member, `${path}, member ${index + 1} of the Set,`));
    return this.#sorted ? sortedByText(plain) : plain;
  }

  /** Own properties that cannot be stored are left out: libraries attach sockets and responses to their errors. */
  #error(error: Error, path: string): unknown {
    const properties: Record<string, unknown> = {};
    for (const [key, entry] of Object.entries(error)) {
      if (key === "name" || key === "stack" || key === "message" || key === "cause") continue;
      const plain = this.#unlessNotStorable(entry, path);
      if (plain !== undefined) properties[key] = plain;
    }
    const cause = error.cause === undefined ? undefined : this.#unlessNotStorable(error.cause, path);
    return {
      name: error.name === "Error" ? error.constructor.name : error.name,
      message: error.message,
      ...(this.#sorted || error.stack === undefined ? {} : { stack: error.stack }),
      ...(cause === undefined ? {} : { cause }),
      properties,
    };
  }

  #unlessNotStorable(value: unknown, path: string): unknown {
    try {
      return this.plain(value, path);
    } catch (error) {
      if (error instanceof NotStorableError) return undefined;
      throw error;
    }
  }
}

function marked(kind: string, value?: unknown): object {
  return value === undefined ? { [MARK]: kind } : { [MARK]: kind, v: value };
}

function bytesOf(value: ArrayBufferView, path: string): [string, string] {
  const base64 = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
  if (Buffer.isBuffer(value)) return ["Buffer", base64];
  const name = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (!(name in ARRAYS) && name !== "DataView") throw new NotStorableError(path, `a ${name}`);
  return [name, base64];
}

function sortedByText(plain: unknown[]): unknown[] {
  return plain
    .map((entry) => ({ entry, text: JSON.stringify(entry) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ entry }) => entry);
}

function revived(plain: unknown): unknown {
  if (typeof plain !== "object" || plain === null) return plain;
  if (Array.isArray(plain)) return plain.map(revived);
  const { [MARK]: kind, v } = plain as { [MARK]?: string; v?: unknown };
  if (kind === undefined) return revivedRecord(plain);
  switch (kind) {
    case "undefined":
      return undefined;
    case "number":
      return Number(v);
    case "bigint":
      return BigInt(v as string);
    case "date":
      return new Date(v === null ? Number.NaN : (v as string));
    case "map":
      return new Map((v as [unknown, unknown][]).map(([key, entry]) => [revived(key), revived(entry)]));
    case "set":
      return new Set((v as unknown[]).map(revived));
    case "bytes":
      return revivedBytes(v as [string, string]);
    case "error":
      return revivedError(v as StoredError);
    case "object":
      return revivedRecord(v as object);
    default:
      throw new Error(`a stored value of the kind "${kind}" needs a newer version of this package`);
  }
}

function revivedRecord(plain: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(plain).map(([key, entry]) => [key, revived(entry)]));
}

function revivedBytes([name, base64]: [string, string]): unknown {
  const buffer = Buffer.from(base64, "base64");
  if (name === "Buffer") return buffer;
  // A copy: the memory of a Buffer may begin anywhere within a shared one.
  const bytes = new Uint8Array(buffer);
  if (name === "ArrayBuffer") return bytes.buffer;
  if (name === "DataView") return new DataView(bytes.buffer);
  return new ARRAYS[name as keyof typeof ARRAYS](bytes.buffer);
}

interface StoredError {
  name: string;
  message: string;
  stack?: string;
  cause?: unknown;
  properties: Record<string, unknown>;
}

function revivedError({ name, message, stack, cause, properties }: StoredError): Error {
  const error = new (ERRORS[name] ?? Error)(message);
  const hidden = (value: unknown) => ({ value, writable: true, configurable: true, enumerable: false });
  if (error.name !== name) Object.defineProperty(error, "name", hidden(name));
  Object.defineProperty(error, "stack", hidden(stack ?? `${name}: ${message}`));
  if (cause !== undefined) Object.defineProperty(error, "cause", hidden(revived(cause)));
  return Object.assign(error, revivedRecord(properties));
}
