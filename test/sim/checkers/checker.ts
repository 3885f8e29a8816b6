/** Inputs of a checker: commits in order, the feed at the gateway, answers at clients, and the store. */
import type { Committed, Primitive } from "#protocol/wire/feed";
import type { CommitResult } from "#storage/port";
import type { Batch } from "#storage/write/batch";
import { COLUMNS, type OperationName } from "#storage/write/ops";
import { operationAt, singleOperations } from "../../support/bulk-operations.ts";
import type { Request } from "../model-gateway.ts";
import type { History } from "./history.ts";

/** A row operation with its values by column. */
export class Operation {
  readonly name: OperationName;
  readonly #values: readonly Primitive[];
  readonly #at: number;

  constructor(name: OperationName, values: readonly Primitive[], at: number) {
    this.name = name;
    this.#values = values;
    this.#at = at;
  }

  get(column: string): Primitive {
    const index = (COLUMNS[this.name] as readonly string[]).indexOf(column);
    if (index < 0) throw new Error(`${this.name} has no ${column}`);
    return this.#values[this.#at + index] ?? null;
  }

  number(column: string): number {
    return Number(this.get(column));
  }

  text(column: string): string {
    return String(this.get(column));
  }

  /** The details of a run's state. */
  get details(): Record<string, unknown> {
    const details = this.get("state_details");
    return details === null ? {} : (JSON.parse(String(details)) as Record<string, unknown>);
  }
}

/** The operations of a batch; operations for many rows are followed by their equivalents for single rows. */
export function readOperations(ops: readonly Primitive[]): Operation[] {
  const operations: Operation[] = [];
  for (let at = 0; at < ops.length; ) {
    const { name, values } = operationAt(ops, at);
    operations.push(new Operation(name, values, 0), ...readOperations(singleOperations(name, values)));
    at += values.length + 1;
  }
  return operations;
}

export interface Commit {
  batch: Batch;
  result: CommitResult;
  operations: readonly Operation[];
}

export interface Answer {
  id: number;
  request: Request;
  status: number;
  body: string | null;
}

export interface Checker {
  /** A batch was committed; the history is that before the batch. */
  commit?(commit: Commit, history: History): void;
  /** One operation of the batch, in order; the history includes the operations before it. */
  operation?(operation: Operation, history: History): void;
  /** The history includes the whole batch. */
  afterCommit?(commit: Commit, history: History): void;
  /** A message of the feed reaches the gateway. */
  fed?(message: Committed, history: History): void;
  /** A client sends a request. */
  submitted?(id: number, request: Request): void;
  /** A client gets an answer of the core. */
  answered?(answer: Answer, history: History): void;
  /** The gateway learns that the core has started again; it resends what was not answered. */
  reloaded?(): void;
  /** A core starts on a new thread: state held only in its memory is lost. */
  coreStarted?(): void;
  /** A process starts. */
  processStarted?(): void;
  /** A check of the whole store, between two commits. */
  look?(history: History): void;
  /** The system is at rest after the faults have stopped. */
  atRest?(history: History): void;
}
