/**
 * The rule reader: sends requests of the rule engine to reader threads, so that neither a template nor a search blocks the
 * core.
 *
 * Messages in: requests. Effects out: their results, to the rule engine, in any order. Unanswered requests end with this
 * actor; after its restart it sends ReaderStarted.
 */
import type { Actor } from "#runtime/actor";
import type { ReadDone, ReadRequest, RuleQuestion } from "../rule-engine/rule-messages.ts";

export interface ReaderPorts {
  /** The result as JSON text. Rejects on an error or at the time limit. */
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
