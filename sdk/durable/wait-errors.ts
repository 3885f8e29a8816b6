/** How waits of a durable run fail. */

/** A wait was ended by its timeout. */
export class WaitTimeout extends Error {
  override readonly name = "WaitTimeout";
  /** What was waited for: `event "paid"`. */
  readonly waitedFor: string;
  /** The timeout, in seconds. */
  readonly seconds: number;

  constructor(waitedFor: string, seconds: number) {
    super(`${waitedFor} did not come within ${seconds} s`);
    this.waitedFor = waitedFor;
    this.seconds = seconds;
  }
}

/** A child run has ended without completing. */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
  /** The child's run, the newest one if it was run again. */
  readonly runId: number;
  /** The last state of the child: Failed, TimedOut, Cancelled, Crashed, Skipped; Deleted if it no longer exists. */
  readonly state: string;
  /** The message of that state. */
  readonly stateMessage: string | null;

  constructor(flow: string, runId: number, state: string, stateMessage: string | null) {
    super(`run ${runId} of ${flow} is ${state}${stateMessage === null ? "" : `: ${stateMessage}`}`);
    this.runId = runId;
    this.state = state;
    this.stateMessage = stateMessage;
  }
}
