/** What deliberate bugs have in common: how they get into the server. */
import type { LiveState } from "#actors/core/state/live-state";
import { Dispatcher } from "#actors/dispatcher/dispatcher";
import type { GenerationRequest } from "#actors/store-writer/commit-client";
import type { Primitive } from "#protocol/wire/feed";
import type { CommitOutcome, CommitRequest } from "#storage/port";
import type { Batch } from "#storage/write/batch";
import { COLUMNS, OPERATION_NAMES, type OperationName } from "#storage/write/ops";
import type { SimulatedServer } from "./simulated-server.ts";

export interface Mutation {
  name: string;
  /** Injects the bug; the returned function removes it. */
  install?(): () => void;
  /** Inspects a message from the core to the writer; false: the message is dropped. */
  sends?(message: Batch | GenerationRequest, server: SimulatedServer): boolean;
  /** Changes the outcome that the writers are given. */
  outcome?(outcome: CommitOutcome, request: CommitRequest): CommitOutcome;
  /** Changes the commit that is made after an unknown outcome. */
  commitsAgain?(request: CommitRequest): CommitRequest;
}

export type Method = (...values: never[]) => unknown;

/** Replaces a method of a class; `make` gets the original. */
export function replace<K extends string>(prototype: Record<K, Method>, name: K, make: (original: Method) => Method): () => void {
  const original = prototype[name];
  prototype[name] = make(original);
  return () => {
    prototype[name] = original;
  };
}

export interface CommandLike {
  kind: string;
  body?: unknown;
  epoch?: number;
}

/** Changes messages that the dispatcher receives. */
export function replaceMessages(change: (message: CommandLike) => CommandLike): () => void {
  return replace(Dispatcher.prototype as unknown as Record<"receive", Method>, "receive", (original) => {
    return function (this: unknown, message: CommandLike, out: unknown) {
      return (original as (...values: unknown[]) => unknown).call(this, change(message), out);
    } as Method;
  });
}

/** Changes the parsed body of one kind of command. */
export function replaceBodies(
  kinds: readonly string[],
  change: (body: Record<string, unknown>) => Record<string, unknown>,
): () => void {
  return replaceMessages((message) => {
    if (!kinds.includes(message.kind) || typeof message.body !== "string") return message;
    return { ...message, body: JSON.stringify(change(JSON.parse(message.body) as Record<string, unknown>)) };
  });
}

/** Stores a changed value in a column of each row written by an operation. */
export function rewrite(
  { ops }: Batch,
  operation: OperationName,
  change: (row: Map<string, Primitive>) => [string, Primitive],
): void {
  for (let at = 0; at < ops.length; ) {
    const name = OPERATION_NAMES[Number(ops[at])] as OperationName;
    const columns: readonly string[] = COLUMNS[name];
    if (name === operation) {
      const [column, value] = change(new Map(columns.map((known, index) => [known, ops[at + 1 + index] ?? null])));
      ops[at + 1 + columns.indexOf(column)] = value;
    }
    at += columns.length + 1;
  }
}

interface DispatcherLike {
  state: LiveState;
  ports: { nowUs(): number };
}

/** Changes the live state before the dispatcher handles a message of these kinds; what `change` returns undoes it afterwards. */
export function meddle(
  kinds: readonly string[],
  change: (state: LiveState, message: CommandLike, nowUs: number) => (() => void) | undefined,
): () => void {
  return replace(Dispatcher.prototype as unknown as Record<"receive", Method>, "receive", (original) => {
    return function (this: DispatcherLike, message: CommandLike, out: unknown) {
      const undo = kinds.includes(message.kind) ? change(this.state, message, this.ports.nowUs()) : undefined;
      try {
        return (original as (...values: unknown[]) => unknown).call(this, message, out);
      } finally {
        undo?.();
      }
    } as Method;
  });
}
