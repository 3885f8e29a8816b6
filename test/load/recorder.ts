/** What one measured window saw: latencies by kind of request, finished runs, refusals. */
import { Samples } from "./samples.ts";

/** Enough to see what is wrong; a server that refuses everything must not fill the memory. */
const ERRORS_KEPT = 5;

export class Recorder {
  /** Create sent to 201, in milliseconds, like all of these. */
  readonly create = new Samples();
  /** Create sent to the moment the engine has the work. */
  readonly dispatch = new Samples();
  /** Transition sent to its acknowledgement. */
  readonly transition = new Samples();
  /** Report with task runs and log lines, sent to acknowledged. */
  readonly report = new Samples();
  /** Create sent to the answer of the run's last request. */
  readonly whole = new Samples();
  completed = 0;
  failed = 0;
  readonly errors: string[] = [];

  error(text: string): void {
    this.failed += 1;
    if (this.errors.length < ERRORS_KEPT) this.errors.push(text);
  }
}
