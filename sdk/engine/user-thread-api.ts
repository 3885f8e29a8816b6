import type { State } from "#protocol/state";
import type { AttemptOutcome } from "../attempt.ts";
import type { MillraceOptions } from "../client/index.ts";

/** What the user thread is given when it starts. */
export interface UserThreadData {
  sourceDir: string;
  module: string;
  /** The home directory, where results are cached. */
  home: string;
  /** Where user code finds the server: answers, leases and variables of its runs. */
  server: MillraceOptions;
}

/** A run as the user thread needs it. */
export interface RunFacts {
  id: number;
  externalId: string;
  name: string;
  project: string;
  flow: string;
  parameters: Record<string, unknown>;
}

/** What the control thread has to know about a flow of the module. */
export interface FlowFacts {
  project: string;
  name: string;
  timeoutSeconds: number | null;
  retries: number;
  /** State types for which the flow has a hook. */
  hooks: State["type"][];
}

export type LoadAnswer = { flows: FlowFacts[] } | { error: string; traceback: string };

/** What the control thread asks of the user thread (comlink); what happens in a run comes back on the same port, as arrays of report items. */
export interface UserThreadApi {
  /** Imports the module; the first call. */
  load(): Promise<LoadAnswer>;
  /** Calls a flow once. All report items of the attempt are posted before the answer. */
  execute(run: RunFacts, attempt: number): Promise<AttemptOutcome>;
  /** Aborts the signal of the run under way. `seconds` is the time limit that was exceeded, null for a cancel. */
  stop(seconds: number | null): void;
  /** Asks the flow which of these values of a backfill are done. */
  bulkComplete(flow: { project: string; flow: string }, values: string[]): Promise<string[]>;
  /** Calls the flow's hook for a state. */
  hook(run: RunFacts, state: State): Promise<void>;
}
