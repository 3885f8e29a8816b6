/** Decisions in readable form: operations with column names, replies with parsed bodies. */
import { type Primitive, STREAM_KINDS, type StreamKind } from "#protocol/wire/feed";
import type { Decision } from "#storage/write/batch";
import { COLUMNS, type OperationName } from "#storage/write/ops";
import { operationAt, singleOperations } from "./bulk-operations.ts";

export interface Operation {
  op: OperationName;
  [column: string]: Primitive;
}

export interface Reply {
  command: number;
  status: number;
  // Untyped: tests name the fields they check.
  body: Record<string, unknown>;
}

export interface DecisionRecord {
  ops: Operation[];
  replies: Reply[];
  stream: { kind: StreamKind; id: Primitive }[];
  logs: { run_id: number; attempt: number; lines: unknown[][] }[];
}

export function decodeDecision(decision: Decision): DecisionRecord {
  return {
    ops: decodeOperations(decision.ops),
    replies: chunks(decision.replies, 3).map(([command, status, body]) => ({
      command: Number(command),
      status: Number(status),
      body: typeof body === "string" ? (JSON.parse(body) as Record<string, unknown>) : {},
    })),
    stream: chunks(decision.stream, 2).map(([code, id]) => ({ kind: streamKind(Number(code)), id: id ?? null })),
    logs: chunks(decision.logs, 5).map(([run, attempt, , , lines]) => ({
      run_id: Number(run),
      attempt: Number(attempt),
      lines: JSON.parse(String(lines)) as unknown[][],
    })),
  };
}

export function mergeDecisions(records: readonly DecisionRecord[]): DecisionRecord {
  return {
    ops: records.flatMap((record) => record.ops),
    replies: records.flatMap((record) => record.replies),
    stream: records.flatMap((record) => record.stream),
    logs: records.flatMap((record) => record.logs),
  };
}

/** The operations of one name. */
export function operations(record: DecisionRecord, op: OperationName): Operation[] {
  return record.ops.filter((operation) => operation.op === op);
}

/** Names of the events of a decision, in order. */
export function eventNames(record: DecisionRecord): string[] {
  return operations(record, "insert_event").map((event) => String(event["name"]));
}

/** Operations for many rows are followed by their equivalents for single rows. */
function decodeOperations(ops: readonly Primitive[]): Operation[] {
  const decoded: Operation[] = [];
  for (let at = 0; at < ops.length; ) {
    const { name, values } = operationAt(ops, at);
    const columns = COLUMNS[name].map((column, index) => [column, values[index] ?? null]);
    decoded.push({ op: name, ...Object.fromEntries(columns) }, ...decodeOperations(singleOperations(name, values)));
    at += values.length + 1;
  }
  return decoded;
}

function streamKind(code: number): StreamKind {
  const kind = STREAM_KINDS[code];
  if (kind === undefined) throw new Error(`no stream kind has the code ${code}`);
  return kind;
}

function chunks(values: readonly Primitive[], size: number): Primitive[][] {
  if (values.length % size !== 0) throw new Error(`${values.length} values are no multiple of ${size}`);
  return Array.from({ length: values.length / size }, (_, index) => values.slice(index * size, (index + 1) * size));
}
