/** The stream messages of a step. */
import { type Primitive, STREAM_CODE, type StreamKind } from "#protocol/wire/feed";

export class StepStream {
  readonly #sent: Primitive[];
  readonly #later: Primitive[] = [];

  /** `sent` is the list of the decision. */
  constructor(sent: Primitive[]) {
    this.#sent = sent;
  }

  add(kind: StreamKind, id: Primitive): void {
    this.#later.push(STREAM_CODE[kind], id);
  }

  /** A message about a touched row: it precedes the messages of the step that are added by `add`, such as those of its events. */
  addRow(kind: StreamKind, id: Primitive): void {
    this.#sent.push(STREAM_CODE[kind], id);
  }

  finish(): void {
    for (const entry of this.#later) this.#sent.push(entry);
  }
}
