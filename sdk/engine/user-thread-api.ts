/** The messages between the control thread and the user thread. */
import type { State } from "#protocol/records/state";
import type { MillraceOptions } from "../client/index.ts";
import type { DurableFacts, StepsStored } from "../durable/durable-services.ts";
import type { AttemptOutcome } from "../execution/attempt.ts";
import type { Gauges } from "../execution/gauges.ts";
import type { ReportItem } from "../execution/report-item.ts";
import type { RunOrigin } from "../execution/run-origin.ts";
import type { LoadedFile } from "../modules/loaded-file.ts";
import type { TraceNote } from "../tracing/trace-note.ts";

/** The data that the user thread starts with. */
export interface UserThreadData {
  sourceDir: string;
  module: string;
  /** The home directory, where results are cached. */
  home: string;
  /** Server for user code: answers, leases and variables of its runs. */
  server: MillraceOptions;
  /** Whether the engine traces runs. */
  traces: boolean;
  /** Shared memory of the engine's gauges. */
  gauges: SharedArrayBuffer;
}

/** The facts about a run that the user thread needs. */
export interface RunFacts {
  id: number;
  externalId: string;
  name: string;
  project: string;
  flow: string;
  parameters: Record<string, unknown>;
  origin: RunOrigin;
  /** Set for a run of a durable flow. */
  durable?: DurableFacts;
  /** The header `traceparent` for what the code calls; absent where neither the engine nor the creator of the run traces it. */
  traceparent?: string;
}

/** The facts about a flow of the module that the control thread needs. */
export interface FlowFacts {
  project: string;
  name: string;
  timeoutSeconds: number | null;
  retries: number;
  /** State types for which the flow has a hook. */
  hooks: State["type"][];
}

export type LoadAnswer = { flows: FlowFacts[] } | { error: string; traceback: string };

/** Posted before a file of user code is loaded, also for an import in the middle of a run. */
export interface ImportedFile {
  imported: LoadedFile;
}

/** Calls that are rare (comlink). */
export interface UserThreadApi {
  /** Imports the module; the first call. */
  load(): Promise<LoadAnswer>;
  /** Asks the flow which of these values of a backfill are already done. */
  bulkComplete(flow: { project: string; flow: string }, values: string[]): Promise<string[]>;
}

/** Orders about runs, posted to the user thread as one array for each turn of the control thread. */
export type RunOrder =
  /** Call a flow once. */
  | { kind: "execute"; run: RunFacts; attempt: number }
  /** Call the flow's hook for a state. */
  | { kind: "hook"; run: RunFacts; state: State }
  /** Abort the signal of a run. `seconds` is the exceeded time limit, null for a cancel. */
  | { kind: "stop"; run: number; seconds: number | null }
  /** Steps of a durable run are committed, or, with an error, never will be. */
  | { kind: "stored"; run: number; steps: StepsStored }
  /** The run is over although its code goes on: what that code does later is not recorded. */
  | { kind: "abandon"; run: number }
  /** Answer with TURNED as soon as the orders before have been carried out and the thread has returned to its event loop. */
  | { kind: "turn" };

/** The answer to each order `turn`. */
export const TURNED = "turned";

/** News of runs, posted to the control thread as arrays. All items of an attempt come before its outcome. */
export type RunNews =
  | { run: number; items: ReportItem[] }
  | { run: number; note: TraceNote }
  | { run: number; outcome: AttemptOutcome }
  /** The hook has returned; `error` if the call of the hook failed. */
  | { run: number; hook: { error: string | null } };

/** The thread has ended without an answer. `details` are those of the Crashed state. */
export interface Ended {
  kind: "ended";
  cause: string;
  details: Record<string, unknown>;
  /** The run whose code ended the thread; null where that cannot be told. */
  run: number | null;
}

/** Where the code of runs executes, as the control of a run sees it: a thread, or the script itself. It can end at any moment. */
export interface CodePlace {
  readonly alive: boolean;
  /**
   * Calls a flow once; `onItems` gets all report items of the attempt before the outcome, and `onNote` what a traced run tells
   * its tracer.
   */
  execute(
    run: RunFacts,
    attempt: number,
    onItems: (items: ReportItem[]) => void,
    onNote?: (note: TraceNote) => void,
  ): Promise<AttemptOutcome | Ended>;
  /** Calls the flow's hook for a state; null when it has returned, else why the call failed. */
  hook(run: RunFacts, state: State, onItems: (items: ReportItem[]) => void): Promise<string | null | Ended>;
  /** Aborts the signal of a run. `seconds` is the exceeded time limit, null for a cancel. */
  stop(run: number, seconds: number | null): void;
  /** Steps of a durable run are committed, or, with an error, never will be. */
  stored(run: number, steps: StepsStored): void;
  /** Whether the place still takes orders: false while code holds its thread. */
  responds(): Promise<boolean>;
  /** Ends the attempt of a run whose code does not return; the code may go on, and nothing of it is recorded. */
  abandon(run: number): void;
  /** Ends the place, whatever its code is doing; `run` is the run that did not stop. */
  terminate(run: number | null): Promise<void>;
}

/** Keeps a place, and replaces it after it was ended. */
export interface CodeKeeper {
  readonly gauges: Gauges;
  readonly thread: CodePlace;
  /** Why the module could not be imported; null on success. */
  readonly importError: string | null;
  /** The flow of this name, in this project if there is one. */
  find(project: string, name: string): FlowFacts | undefined;
  /** The place, once it takes runs: another one if it has ended. */
  ready(): Promise<CodePlace>;
  /** Code of an ended run goes on: the place takes no further run, and ends when its other runs have ended. */
  retire(run: number): void;
}
