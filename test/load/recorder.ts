/** The observations of one measured window: latencies by kind of request, finished runs, refusals. */
import { Samples } from "./samples.ts";

/** Enough to see the problem; a server that refuses everything must not fill the memory. */
const ERRORS_KEPT = 5;

export class Recorder {
  /** From sending the create to its 201, in milliseconds like all of these. */
  readonly create = new Samples();
  /** From sending the create to an engine having the work. */
  readonly dispatch = new Samples();
  /** From sending a transition to its acknowledgement. */
  readonly transition = new Samples();
  /** From sending a report with task runs and log lines to its acknowledgement. */
  readonly report = new Samples();
  /** From sending the create to the answer of the run's last request. */
  readonly whole = new Samples();
  /** Runs that were created and acknowledged. */
  created = 0;
  completed = 0;
  failed = 0;
  readonly errors: string[] = [];

  error(text: string): void {
    this.failed += 1;
    if (this.errors.length < ERRORS_KEPT) this.errors.push(text);
  }
}
