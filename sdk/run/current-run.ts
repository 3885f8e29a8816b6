import { currentSignal, requireScope } from "../execution/active-run.ts";

/** The run around the current code. Every field throws outside a run. */
export interface CurrentRun {
  readonly id: number;
  /** UUID of the run. */
  readonly externalId: string;
  readonly name: string;
  readonly project: string;
  readonly flow: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** 1 for the first attempt; retries count up. */
  readonly attempt: number;
  /** Aborts when the run is cancelled or its time limit passes; inside a task, also with that task run. */
  readonly signal: AbortSignal;
}

export const run: CurrentRun = {
  get id() {
    return requireScope("run.id").run.id;
  },
  get externalId() {
    return requireScope("run.externalId").run.externalId;
  },
  get name() {
    return requireScope("run.name").run.name;
  },
  get project() {
    return requireScope("run.project").run.project;
  },
  get flow() {
    return requireScope("run.flow").run.flow;
  },
  get parameters() {
    return requireScope("run.parameters").run.parameters;
  },
  get attempt() {
    return requireScope("run.attempt").run.attempt;
  },
  get signal() {
    requireScope("run.signal");
    return currentSignal();
  },
};
