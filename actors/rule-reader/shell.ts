/**
 * The rule reader: asks reader threads on behalf of the rule engine, so that neither a template nor a search holds up the core.
 *
 * Messages in: questions. Effects out: their answers, to the rule engine, in any order. What it was asked and has not answered
 * ends with its life; it says when it starts anew.
 */
import type { Actor } from "#runtime/actor";
import type { ReadDone, ReadRequest, RuleQuestion } from "../rules/messages.ts";

export interface ReaderPorts {
  /** The answer as JSON text. Rejects when there is none, in time or at all. */
  ask(question: RuleQuestion): Promise<string>;
  done(message: ReadDone): void;
  close(): Promise<void>;
}

export class RuleReader implements Actor<ReadRequest> {
  readonly #ports: ReaderPorts;
  #stopped = false;

  constructor(ports: ReaderPorts) {
    this.#ports = ports;
  }

  receive({ kind: _kind, ticket, ...question }: ReadRequest): void {
    this.#ports.ask(question).then(
      (text) => this.#answer(ticket, { text }),
      (cause: unknown) => this.#answer(ticket, { error: cause instanceof Error ? cause.message : String(cause) }),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ports.close();
  }

  #answer(ticket: number, result: ReadDone["result"]): void {
    if (!this.#stopped) this.#ports.done({ kind: "ReadDone", ticket, result });
  }
}
