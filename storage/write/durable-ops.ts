/** Row operations of durable runs: their lineages, steps, waits and parks (storage/migrations/0010-durable.ts). */
import type { WaitKind } from "#protocol/records/durable";
import { bit, type Columns, hex, integer, json, nullable, oneOf, text } from "./columns.ts";

export const DURABLE_OPERATIONS = {
  /** Gives a run its lineage; the run may be new in this commit, and its insert may follow. */
  set_lineage: { id: integer, lineage_id: integer, caller_run_id: nullable(integer) },
  /** The result of a task of a durable run; the first one of an identity stays. `file` is the SHA-256 of its content. */
  insert_step: {
    lineage_id: integer,
    identity: hex,
    place: hex,
    name: text,
    run_id: integer,
    task_run_id: nullable(integer),
    value: nullable(text),
    file: nullable(hex),
    bytes: integer,
    created_at: integer,
  },
  /** `spec` holds the fields of the kind as JSON; `token_hash` is the SHA-256 of a callback's token. */
  put_wait: {
    id: integer,
    lineage_id: integer,
    identity: hex,
    place: hex,
    kind: oneOf<WaitKind>(),
    name: text,
    spec: nullable(json),
    due: nullable(integer),
    child_lineage_id: nullable(integer),
    token_hash: nullable(hex),
    created_at: integer,
    settled_at: nullable(integer),
    outcome: nullable(json),
    event_id: nullable(integer),
  },
  /** Ends a wait; without an outcome, it ended with its lineage. */
  settle_wait: { id: integer, settled_at: nullable(integer), outcome: nullable(json), event_id: nullable(integer) },
  /** A lineage that was forked or called. `before_task`: of its origin it sees what earlier task runs did; null for all. */
  put_lineage: {
    id: integer,
    origin_id: nullable(integer),
    before_task: nullable(integer),
    before_time: nullable(integer),
    depth: integer,
    caller_wait: nullable(integer),
    on_parent_end: nullable(text),
  },
  /** `ran`: microseconds of its time limit that have passed. `holds`: it keeps its resources while it waits. */
  put_park: {
    run_id: integer,
    parked: bit,
    wake_at: nullable(integer),
    waits: nullable(json),
    holds: bit,
    ran: integer,
    progress: nullable(json),
  },
  delete_park: { run_id: integer },
} as const satisfies Readonly<Record<string, Columns>>;
