import type { Run } from "./client/records.ts";

/** A flow that a script called did not complete. What its function threw in this process is the `cause`. */
export class RunError extends Error {
  override readonly name = "RunError";
  readonly runId: number;
  /** The state in which it is: Failed, Cancelled, Crashed or Paused, or a sub-state of them. */
  readonly state: string;

  constructor({ id, name, state }: Run, cause?: unknown) {
    const advice = state.type === "Paused" ? `; answer it under a server: millrace runs input ${id}` : "";
    super(`run ${id} (${name}) is ${state.name}${state.message === null ? "" : `: ${state.message}`}${advice}`, { cause });
    this.runId = id;
    this.state = state.name;
  }
}
