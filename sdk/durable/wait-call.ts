/** A call of the flow's function that waits outside its engine. */
import { type ActiveRun, currentScope, isLeftBehind, type Scope } from "../execution/active-run.ts";
import type { DurableRun } from "./durable-run.ts";
import { type Caller, type CallIdentity, keyedCall, numberedCall } from "./identity.ts";

/** Options of every wait of a durable flow. */
export interface DurableWaitOptions {
  /** Identifies the wait when the flow begins again. Default: its arguments, and its order among equal waits. */
  key?: string;
  /** The run keeps the resources of its flow while it waits outside its engine. Default false. */
  hold?: boolean;
}

export interface WaitCall {
  run: ActiveRun;
  durable: DurableRun;
  caller: Caller;
}

/**
 * The durable run around a call of `what`; null in code of an attempt that is over.
 * @throws Error outside a durable flow's function
 */
export function waitCall(what: string): WaitCall | null {
  if (isLeftBehind()) return null;
  const scope = currentScope();
  if (scope === undefined) throw new Error(`${what} is only available inside a run`);
  const { durable } = scope.run;
  if (durable === null) throw needsDurable(what, scope.run.flow);
  if (scope.task !== null) throw insideTask(what, scope);
  return { run: scope.run, durable, caller: scope.caller ?? durable.root };
}

export function needsDurable(what: string, flow: string): Error {
  return new Error(`${what} needs a durable flow: give flow "${flow}" the option durable: true`);
}

export function insideTask(what: string, { task }: Scope): Error {
  return new Error(`${what} inside task "${task?.name}" would keep its engine: call it in the function of the flow`);
}

/** The identity of a wait by its key, else by its arguments. */
export function waitIdentity(caller: Caller, kind: string, key: string | undefined, args: readonly unknown[]): CallIdentity {
  const name = `wait:${kind}`;
  return key === undefined ? numberedCall(caller, name, args, `${kind} wait`) : keyedCall(caller, name, key);
}
