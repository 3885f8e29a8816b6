import type { JsonSchema } from "../define/parameters.ts";
import { untilAborted } from "../execution/abortable.ts";
import { Paused } from "../execution/failure.ts";
import type { RunServices } from "../execution/run-services.ts";

/** A question to a person, as in the details of a Paused state (interface: Run, state). */
export interface Question {
  prompt: string;
  /** JSON Schema of the answer; null if any JSON is accepted. */
  schema: JsonSchema | null;
  /**
   * Asks the server to check answers against the schema; absent without a schema. Engines without this field check answers
   * themselves.
   */
  answer_checked?: true;
  /** Microseconds since the Unix epoch. */
  asked_at: number;
  /** UUID of the task run that asks; null if the flow itself asks. */
  task_run: string | null;
}

/** A question and the conversion of an answer to the value for user code; null if the answer does not fit. */
export interface Asked extends Question {
  read(answer: unknown): Promise<{ value: unknown } | null>;
}

/**
 * The questions of one attempt of a run. A paused run starts again from the top, so the same calls are repeated: each call
 * takes the next answer that fits it, in the order of the calls. The first call without an answer pauses the run.
 */
export class Questions {
  /** The question for which the run pauses; null until then. */
  unanswered: Question | null = null;
  readonly #controller: AbortController;
  readonly #services: RunServices;
  #answers: Promise<unknown[]> | null = null;
  #taken = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** @param controller of the run: a pause aborts it */
  constructor(controller: AbortController, services: RunServices) {
    this.#controller = controller;
    this.#services = services;
  }

  /**
   * The value of the answer.
   * @throws Paused when there is none; the signal's reason when the run is stopped
   */
  ask(asked: Asked): Promise<unknown> {
    const turn = this.#last.then(() => this.#take(asked));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #take({ read, ...question }: Asked): Promise<unknown> {
    const { signal } = this.#controller;
    signal.throwIfAborted();
    // Answers do not arrive while the run executes, so reading them once is enough.
    this.#answers ??= this.#services.answers();
    const answers = await untilAborted(signal, this.#answers);
    while (this.#taken < answers.length) {
      const answer = await read(answers[this.#taken]);
      this.#taken += 1;
      if (answer !== null) return answer.value;
    }
    signal.throwIfAborted();
    this.unanswered = question;
    const paused = new Paused("paused for input");
    this.#controller.abort(paused);
    throw paused;
  }
}
