/** The messages between the control thread and the user thread. */
import type { State } from "#protocol/records/state";
import type { MillraceOptions } from "../client/index.ts";
import type { AttemptOutcome } from "../execution/attempt.ts";
import type { Gauges } from "../execution/gauges.ts";
import type { ReportItem } from "../execution/report-item.ts";
import type { LoadedFile } from "../modules/loaded-file.ts";

/** The data that the user thread starts with. */
export interface UserThreadData {
  sourceDir: string;
  module: string;
  /** The home directory, where results are cached. */
  home: string;
  /** Server for user code: answers, leases and variables of its runs. */
  server: MillraceOptions;
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

/** Calls from the control thread to the user thread (comlink); report items of a run come back on the same port, as arrays. */
export interface UserThreadApi {
  /** Imports the module; the first call. */
  load(): Promise<LoadAnswer>;
  /** Calls a flow once. All report items of the attempt are posted before the answer. */
  execute(run: RunFacts, attempt: number): Promise<AttemptOutcome>;
  /** Aborts the signal of the current run. `seconds` is the exceeded time limit, null for a cancel. */
  stop(seconds: number | null): void;
  /** Asks the flow which of these values of a backfill are already done. */
  bulkComplete(flow: { project: string; flow: string }, values: string[]): Promise<string[]>;
  /** Calls the flow's hook for a state. */
  hook(run: RunFacts, state: State): Promise<void>;
}

/** The thread has ended without an answer. `details` are those of the Crashed state. */
export interface Ended {
  kind: "ended";
  cause: string;
  details: Record<string, unknown>;
}

/** Where the code of a run executes, as the run's control sees it: a thread, or the script itself. It can end at any moment. */
export interface CodePlace {
  readonly alive: boolean;
  /** Receives the report items of the current run. */
  onItems: (items: ReportItem[]) => void;
  readonly api: Pick<UserThreadApi, "execute" | "hook"> & { stop(seconds: number | null): unknown };
  /** The answer of a call on `api`, or the cause if the place ends before that. */
  answered<T>(call: Promise<T>): Promise<T | Ended>;
  /** Ends the place, whatever its code is doing. */
  terminate(): Promise<void>;
}

/** Keeps a place, and replaces it after it was ended. */
export interface CodeKeeper {
  readonly gauges: Gauges;
  readonly thread: CodePlace;
  /** Why the module could not be imported; null on success. */
  readonly importError: string | null;
  /** The flow of this name, in this project if there is one. */
  find(project: string, name: string): FlowFacts | undefined;
  /** Null if the module was imported again, else the traceback. */
  replace(): Promise<string | null>;
}
