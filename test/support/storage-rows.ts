/** Rows for tests of the store: batches built with the core's own functions. */

import { isTerminal, type StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { IN_MEMORY } from "#storage/read/read-handle";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { type Batch, emptyDecision } from "#storage/write/batch";
import { putOperation, type RunStateValues } from "#storage/write/ops";
import { openWriteHandle } from "#storage/write/write-handle";
import { type CommitRequest, Writer } from "#storage/write/writer";

export interface Store {
  database: Database;
  writer: Writer;
  statements: Statements;
}

export function openStore(path = IN_MEMORY): Store {
  const database = openWriteHandle(path, { durability: "normal", salt: 7 });
  return { database, writer: new Writer(database, { stream: "new_block" }), statements: new Statements(database) };
}

/** A request for one batch of source 1; `logs` become blocks with the writer's next ids. */
export function request(writer: Writer, number: number, parts: Partial<Batch>): CommitRequest {
  const place = { source: 1, number, generation: 1, refusals: 0, epoch: null };
  const batch: Batch = { kind: "Batch", ...place, ...emptyDecision(), ...parts };
  return { batch, logs: buildLogBlocks(batch.logs, writer.nextLogId) };
}

/** A UUID that ends with the number, in one of a few families. */
export function uuid(family: number, id: number): string {
  return `0190000${family}-0000-7000-8000-${id.toString(16).padStart(12, "0")}`;
}

export interface RunSpec {
  id: number;
  flow: number;
  name: string;
  tags: string[];
  type: StateType;
  stateName: string;
  created: number;
  start: number | null;
  end: number | null;
  scheduled: number | null;
  schedule: number | null;
  backfill: number | null;
  message?: string | null;
  /** When the server received the state, if its timestamp differs. */
  received?: number | null;
  parameters?: Record<string, unknown>;
  /** Number of its task runs by state type. */
  taskCounts?: Partial<Record<StateType, number>>;
}

export function durationOf({ start, end }: RunSpec): number | null {
  return start === null || end === null ? null : end - start;
}

export function runState(run: RunSpec): RunStateValues {
  const end = isTerminal(run.type) ? run.end : null;
  const { message = null } = run;
  return [
    run.type,
    run.stateName,
    1,
    message,
    "{}",
    run.received ?? null,
    run.start,
    end,
    durationOf({ ...run, end }),
    null,
    null,
    null,
    0,
    null,
    0,
    0,
    0,
    JSON.stringify(run.taskCounts ?? {}),
  ];
}

export function putFlow(ops: Primitive[], id: number, project: string, name: string, options = "{}"): void {
  putOperation(ops, "insert_flow", id, uuid(1, id), project, name, "m", "/d", null, null, "[]", "{}", options, null, null, 1, 2);
}

export function putRun(ops: Primitive[], run: RunSpec): void {
  const { id, flow, name, created, scheduled, schedule, backfill } = run;
  const tags = JSON.stringify(run.tags);
  const parameters = JSON.stringify(run.parameters ?? {});
  const head = [
    id,
    uuid(2, id),
    flow,
    name,
    parameters,
    tags,
    0,
    0,
    "client",
    created,
    scheduled,
    schedule,
    backfill,
    null,
  ] as const;
  putOperation(ops, "insert_run", ...head, ...runState(run));
}

export function putTaskRun(ops: Primitive[], id: number, run: number, type: StateType, name: string): void {
  const end = isTerminal(type) ? 9 : null;
  const state = [type, name, 5, null, "{}", 4, end, end === null ? null : 5, 0, 0, 3] as const;
  putOperation(ops, "put_task_run", id, uuid(3, id), run, `task-${id % 3}`, "k", `t-${id}`, "[]", ...state);
}

export function putRunEvent(ops: Primitive[], name: string, run: number, flow: number, type: StateType, at: number): void {
  putOperation(ops, "insert_event", name, at, run, flow, null, type, type, null, null, null, null);
}
