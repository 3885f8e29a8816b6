/** Runs of their own that code starts: what a caller says about them, and what it gets. */
import type { Millrace } from "../client/index.ts";

/** Options of `start`, `startMany` and `runAndWait` of a flow. */
export interface StartOptions {
  /** Name of the run; generated when left out. Not for startMany. */
  name?: string;
  /** In addition to those of the flow. */
  tags?: readonly string[];
  /**
   * Two starts with one key and the same parameters create one run (for 24 hours), also from a run that repeats another one after a
   * crash. In a durable flow the key identifies the child instead. Pass a key that names the work, and not the run that starts
   * it, where the code may run again.
   */
  idempotencyKey?: string;
  /** Ends the request and the wait, not the run. */
  signal?: AbortSignal;
  /** The server, outside of a run. Default: that of the home. */
  client?: Millrace;
}

/** A flow and a run as those who start runs see them; their definitions need these types. */
export interface StartedFlow {
  readonly name: string;
  readonly project: string | null;
  readonly checker: { prepare(given: Record<string, unknown>): Promise<unknown> };
}
export interface StartingRun {
  readonly id: number;
  readonly project: string;
  readonly origin: { readonly createdBy: string };
  readonly controller: { readonly signal: AbortSignal };
}

/** A run of its own that was started. */
export interface StartedRun<Result> {
  /** The id of the run. */
  readonly id: number;
  /**
   * Waits for its end; for a run that crashes and is run again, for the end of the run that repeats it. @throws RunError for
   * every end but Completed; ChildFailed in a durable flow
   */
  result(): Promise<Result>;
}

/** The types of the calls that start runs of a flow. */
export interface Triggers<Given, Result> {
  /** Creates a run of its own, and resolves when it is stored. @throws ParameterError before anything is stored */
  start(...given: GivenAnd<Given, StartOptions>): Promise<StartedRun<Result>>;
  /** Creates up to 10,000 runs in one commit, in this order: all of them or none. In a durable flow they are children. */
  startMany(items: readonly Given[], options?: Omit<StartOptions, "name">): Promise<StartedRun<Result>[]>;
  /** Creates a run of its own and waits for its result. @throws RunError for every end but Completed; ChildFailed in a durable flow */
  runAndWait(...given: GivenAnd<Given, StartOptions>): Promise<Result>;
}

/** Parameters that may be left out when none of them is needed, and options. */
type GivenAnd<Given, Options> =
  Record<never, never> extends Given ? [parameters?: Given, options?: Options] : [parameters: Given, options?: Options];
