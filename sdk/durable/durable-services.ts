/** The requests of a durable run to its server. */
import type { ChildWait, NewWait, Step, Wait } from "#protocol/records/durable";

export interface DurableServices {
  /** The stored steps that the run can see; large results are left out. */
  steps(): Promise<Step[]>;
  /** A stored step with its result. */
  step(identity: string): Promise<Step>;
  /** The waits of the run with a larger id. */
  waits(after: number): Promise<Wait[]>;
  /**
   * Arms waits, all or none, in this order; those that are armed already stay as they are. `flows` has the flows of children by
   * the identity of their wait, as flow() made them.
   */
  arm(waits: NewWait[], flows: ReadonlyMap<string, object>): Promise<Wait[]>;
  /** Where the server is reached, for the URL of a callback. @throws Error where no other process can reach it */
  address(): Promise<string>;
  /** In tests: the result that a step of this name is given instead of a call. */
  given?(step: string): { value: unknown } | undefined;
}

/** What became of steps that were reported. */
export interface StepsStored {
  identities: string[];
  /** Null: they are committed. Else they never will be. */
  error: string | null;
  /** When they were stored, in microseconds. Undefined: the server does not tell. */
  appliedAt?: number | undefined;
  /** The wait of the run that was settled last, by then; 0: none. Undefined: the server does not tell. */
  settledWait?: number | undefined;
}

/** Executes children in the process of their caller: a script without a server. */
export interface ChildrenHere {
  /** What the server of the home has to know of the flow of a child. */
  registrationOf(flow: object): NonNullable<ChildWait["registration"]>;
  /** These waits are armed; children among them exist. */
  armed(waits: readonly Wait[], flows: ReadonlyMap<string, object>): void;
}

/** What the engine knows of a durable run when the run begins or continues. */
export interface DurableFacts {
  lineageId: number;
  /** Stored steps and waits that the run can see. */
  steps: number;
  waits: number;
  /** Waits up to this length stay in the engine. */
  parkAfterSecs: number;
  /** The lease under which the engine holds the run. */
  lease: number;
}
