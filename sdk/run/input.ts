import type { ParametersOf } from "../define/flow.ts";
import { ParameterChecker, ParameterError } from "../define/parameters.ts";
import { refuseValidator } from "../define/standard-schema.ts";
import { requireScope } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";

const WARNING = 30;

/**
 * Asks a person, and returns the answer. Until the answer is given the run is Paused: its engine and its resources are free,
 * and the pause outlives restarts. With the answer the flow starts again from its top, where the n-th call takes the n-th
 * answer. Code before a question therefore runs again: keep results with the task option `cache` where that matters, and ask
 * questions in the same order each time.
 * @param schema of the answer, a typebox schema or JSON Schema; an answer that does not fit is logged, and the question is
 * asked again
 * @throws Paused to leave the function; clean up in `finally`. Error outside a run.
 */
export function waitForInput<Schema extends object>(prompt: string, schema: Schema): Promise<ParametersOf<Schema>>;
export function waitForInput(prompt: string): Promise<unknown>;
export function waitForInput(prompt: string, schema?: object): Promise<unknown> {
  const { run, task } = requireScope("waitForInput()");
  if (typeof prompt !== "string" || prompt.trim() === "") {
    throw new TypeError("waitForInput() needs a text to ask with: waitForInput(prompt, schema?)");
  }
  // Plain JSON, as sent over the wire.
  if (schema !== undefined) refuseValidator(schema, "the schema of waitForInput()");
  const plain = schema === undefined ? null : (JSON.parse(JSON.stringify(schema)) as Record<string, unknown>);
  const checker = plain === null ? null : checkerOf(plain);
  return run.questions.ask({
    prompt,
    schema: plain,
    ...(plain === null ? {} : { answer_checked: true }),
    asked_at: run.clock.nowUs(),
    task_run: task?.externalId ?? null,
    async read(answer) {
      if (checker === null) return { value: answer };
      try {
        return { value: (await checker.prepare({ answer }))["answer"] };
      } catch (error) {
        if (!(error instanceof ParameterError)) throw error;
        writeLog(run, task?.externalId ?? null, WARNING, "millrace.run", `"${prompt}" is asked again: ${error.message}`);
        return null;
      }
    },
  });
}

/** Checks and converts an answer like a parameter, because people type answers too. */
function checkerOf(schema: Record<string, unknown>): ParameterChecker {
  return new ParameterChecker({ type: "object", properties: { answer: schema }, required: ["answer"] });
}
