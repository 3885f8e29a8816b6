/** The stream messages of a step. */
import { KINDS_OF_RUNS, type Primitive, STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import type { Decision } from "#storage/write/batch";

export class StepStream {
  readonly #sent: Primitive[];
  readonly #sentRuns: number[];
  readonly #later: Primitive[] = [];
  readonly #laterRuns: number[] = [];

  /** The messages become those of the decision. */
  constructor({ stream, runs }: Decision) {
    this.#sent = stream;
    this.#sentRuns = runs;
  }

  /** @param run for messages about a task run, an event or an artifact: its run, or 0 if it has none or the run is not known */
  add(kind: StreamKind, id: Primitive, run = 0): void {
    this.#later.push(STREAM_CODE[kind], id);
    if (KINDS_OF_RUNS.has(kind)) this.#laterRuns.push(run);
  }

  /** A message about a touched row: it precedes the messages of the step that are added by `add`, such as those of its events. */
  addRow(kind: StreamKind, id: Primitive, run = 0): void {
    this.#sent.push(STREAM_CODE[kind], id);
    if (KINDS_OF_RUNS.has(kind)) this.#sentRuns.push(run);
  }

  finish(): void {
    for (const entry of this.#later) this.#sent.push(entry);
    for (const run of this.#laterRuns) this.#sentRuns.push(run);
  }
}
