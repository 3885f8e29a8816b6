/** Entry of a reader thread: one read-only handle, one task at a time, no transaction between queries. */
import { type SlicedBody, sliceBody } from "#protocol/wire/sliced-body";
import type { AnswerPart } from "../queries/answer-part.ts";
import { type QueryArguments, type QueryName, runPart } from "../queries/named.ts";
import { driverErrorCode } from "../sqlite/driver.ts";
import { Statements } from "../sqlite/statements.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { openReadHandle } from "./read-handle.ts";
import { loadPool, type ReadPart, type ReadTask, type SliceTask, type Unreachable } from "./read-pool.ts";

const piscina = await loadPool();

let open: { path: string; statements: Statements } | null = null;

function statementsOf(path: string): Statements {
  if (open?.path !== path) open = { path, statements: new Statements(openReadHandle(path)) };
  return open.statements;
}

/** Answers a query or slices a body; null is an empty task that shows that the thread runs. */
export default function perform<N extends QueryName>(task: ReadTask<N> | SliceTask | null): unknown {
  if (task === null) return null;
  return "body" in task ? (sliceBody(task.kind, task.body) satisfies SlicedBody) : answer(task);
}

/**
 * A part of the result as bytes whose memory is transferred to the caller; null when the subject of the query does not exist.
 */
function answer<N extends QueryName>(task: ReadTask<N>): unknown {
  const part = readPart(task);
  if (part === null || "fault" in part) return part;
  // A buffer of its own: a slice of Node's shared pool cannot be transferred.
  const bytes = new TextEncoder().encode(part.text);
  const value: ReadPart<unknown> = { bytes, next: part.next };
  return piscina.move({ [piscina.transferableSymbol]: bytes.buffer, [piscina.valueSymbol]: value });
}

/** Wraps errors, because an error loses its code when it crosses to another thread. */
function readPart<N extends QueryName>({ path, name, args }: ReadTask<N>): AnswerPart<QueryArguments[N]> | Unreachable | null {
  try {
    return runPart(statementsOf(path), name, args);
  } catch (cause) {
    if (cause instanceof StorageError && cause.fault === "unreachable") return { fault: cause.fault, message: cause.message };
    const code = driverErrorCode(cause);
    throw code === null || !(cause instanceof Error) ? cause : new Error(`${code}: ${cause.message}`, { cause });
  }
}
