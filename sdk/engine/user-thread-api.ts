import type { State } from "#protocol/state";
import type { AttemptOutcome } from "../attempt.ts";
import type { MillraceOptions } from "../client/index.ts";
import type { Gauges } from "../gauges.ts";
import type { LoadedFile } from "../loaded-file.ts";
import type { ReportItem } from "../report-item.ts";

/** What the user thread is given when it starts. */
export interface UserThreadData {
  sourceDir: string;
  module: string;
  /** The home directory, where results are cached. */
  home: string;
  /** Where user code finds the server: answers, leases and variables of its runs. */
  server: MillraceOptions;
  /** Memory of the engine's gauges. */
  gauges: SharedArrayBuffer;
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

/** Posted before a file of user code is loaded, also by an import in the middle of a run. */
export interface ImportedFile {
  imported: LoadedFile;
}

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

/** The thread has ended without an answer. `details` are those of the Crashed state. */
export interface Ended {
  kind: "ended";
  cause: string;
  details: Record<string, unknown>;
}

/** Where the code of a run executes, as the run's control sees it: a thread, or the script itself. It can end at any moment. */
export interface CodePlace {
  readonly alive: boolean;
  /** Takes the report items of the run under way. */
  onItems: (items: ReportItem[]) => void;
  readonly api: Pick<UserThreadApi, "execute" | "hook"> & { stop(seconds: number | null): unknown };
  /** The answer of a call on `api`, or the cause when the place ends before that. */
  answered<T>(call: Promise<T>): Promise<T | Ended>;
  /** Ends it, whatever it is doing. */
  terminate(): Promise<void>;
}

/** Keeps a place, and replaces it when it had to be ended. */
export interface CodeKeeper {
  readonly gauges: Gauges;
  readonly thread: CodePlace;
  /** Why the module could not be imported, null when it was. */
  readonly importError: string | null;
  /** The flow of this name, in this project if there is one. */
  find(project: string, name: string): FlowFacts | undefined;
  /** Null when the module was imported again, else the traceback. */
  replace(): Promise<string | null>;
}
