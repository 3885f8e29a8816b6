/**
 * The log writer: precedes the store writer and builds log blocks from the log lines of each batch.
 *
 * Messages in: batches of the core. Effects out: the same batches with their block rows, to the store writer, in order.
 * Invariant: line ids only grow. A batch for an earlier start of the writers is dropped, because it is resent.
 */
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import type { Batch } from "#storage/write/batch";
import { STORE_WRITER } from "../names.ts";
import type { GenerationRequest } from "../store-writer/commit-client.ts";
import type { ReportGeneration } from "../store-writer/store-writer.ts";

export class LogWriter implements Actor<Batch | GenerationRequest> {
  readonly #generation: number;
  #nextLogId: number;

  constructor(generation: number, nextLogId: number) {
    this.#generation = generation;
    this.#nextLogId = nextLogId;
  }

  receive(message: Batch | GenerationRequest, out: Outbox): void {
    if (message.kind === "GenerationRequest") return this.#reportGeneration(message, out);
    if (message.generation !== this.#generation) return;
    const logs = buildLogBlocks(message.logs, this.#nextLogId);
    this.#nextLogId = logs.nextLogId;
    out.send(STORE_WRITER, { batch: message, logs });
  }

  /** The store writer answers, after all earlier batches. */
  #reportGeneration({ source }: GenerationRequest, out: Outbox): void {
    out.send(STORE_WRITER, { kind: "ReportGeneration", source, generation: this.#generation } satisfies ReportGeneration);
  }
}
