/** The answers of a step to commands. The first answer to a request with an Idempotency-Key is kept and given again. */
import { type Refusal, refuse } from "#protocol/errors";
import type { Command, CommandHead } from "#protocol/wire/command";
import { putOperation } from "#storage/write/ops";
import type { AnswerBody } from "./state/live-state.ts";
import { type Run, renderRun } from "./state/run.ts";
import type { StepFacts } from "./step-facts.ts";

export class StepAnswers {
  readonly #step: StepFacts;

  constructor(step: StepFacts) {
    this.#step = step;
  }

  /** `body` is JSON text, null for an answer without a body. */
  text(command: Command, status: number, body: string | null): void {
    this.#step.decision.replies.push(command.id, status, body);
    if (body !== null) this.#keep(command, status, { kind: "json", text: body });
  }

  json(command: Command, status: number, body: unknown): void {
    this.text(command, status, JSON.stringify(body));
  }

  run(command: Command, status: number, run: Run): void {
    this.text(command, status, renderRun(run, this.#step.state.textsOf(run)));
  }

  /** The answer is the event recorded last (StepEvents.emitted), which goes to the client with the stream messages. */
  event(command: Command, status: number): void {
    this.#keep(command, status, { kind: "event", id: null });
  }

  /** Answers a parked long-poll, of which only the id is known. */
  poll(command: number, text: string): void {
    this.#step.decision.replies.push(command, 200, text);
  }

  refuse(command: Command, refusal: Refusal): void {
    // A 503 is temporary and not kept as the answer: the client should retry.
    if (refusal.status === 503) this.#refuseOnce(command.id, refusal);
    else this.text(command, refusal.status, refusal.body());
  }

  /** Repeats the first answer to a retried request with an Idempotency-Key; false when the request has to be decided. */
  again({ id, idempotency }: Pick<CommandHead, "id" | "idempotency">): boolean {
    const known = idempotency === null ? null : this.#step.state.answerTo(idempotency.key);
    if (idempotency === null || known === null) return false;
    const { replies } = this.#step.decision;
    const { fingerprint, status, body } = known;
    if (fingerprint !== idempotency.fingerprint) this.#refuseOnce(id, refuse("idempotency_mismatch"));
    else if (body.kind === "json") replies.push(id, status, body.text);
    else if (body.id === null) this.#refuseOnce(id, refuse("busy"));
    else replies.push(id, status, body.id);
    return true;
  }

  /** A refusal that is not kept as the answer. */
  #refuseOnce(command: number, refusal: Refusal): void {
    this.#step.decision.replies.push(command, refusal.status, refusal.body());
  }

  #keep({ idempotency }: Command, status: number, body: AnswerBody): void {
    if (idempotency === null) return;
    const { state, number, receivedUs, decision } = this.#step;
    const { key, fingerprint } = idempotency;
    state.keepAnswer(key, { fingerprint, status, body }, number);
    const text = body.kind === "json" ? body.text : null;
    putOperation(decision.ops, "put_idempotency", { key, created_at: receivedUs, fingerprint, status, body: text });
  }
}
