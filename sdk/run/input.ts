import type { ParametersOf } from "../define/flow.ts";
import { ParameterChecker, ParameterError } from "../define/parameters.ts";
import { refuseValidator } from "../define/standard-schema.ts";
import { askDurably, type InputOptions } from "../durable/ask.ts";
import { never } from "../durable/suspension.ts";
import { needsDurable } from "../durable/wait-call.ts";
import { isLeftBehind, requireScope } from "../execution/active-run.ts";
import { writeLog } from "../execution/run-log.ts";
import type { Asked } from "./questions.ts";

const WARNING = 30;

/**
 * Asks a person, and returns the answer. Until the answer is given the run is Paused: its engine and its resources are free,
 * and the pause outlives restarts. With the answer the flow starts again from its top, where the n-th call takes the n-th
 * answer. Code before a question therefore runs again: keep results with the task option `cache` where that matters, and ask
 * questions in the same order each time. In a durable flow, steps keep their results and a question is recognised by its prompt
 * or key; ask it in the function of the flow.
 * @param schema of the answer, a typebox schema or JSON Schema; an answer that does not fit is logged, and the question is
 * asked again
 * @param options for a durable flow: `key`, `timeout`, and the `default` that is the answer once the timeout has passed
 * @throws Paused to leave the function; clean up in `finally`. In a durable flow WaitTimeout instead. Error outside a run.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, Type, waitForInput } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const deploy = flow("deploy", async () => {
 *   const approved = await waitForInput("Deploy to production?", Type.Boolean());
 *   return approved ? "deployed" : "left as it was";
 * });
 *
 * const { result } = await runFlow(deploy, {}, { answers: [true] });
 * assert.equal(result, "deployed");
 * ```
 */
export function waitForInput<Schema extends object, Default = never>(
  prompt: string,
  schema: Schema,
  options?: InputOptions<Default>,
): Promise<ParametersOf<Schema> | Default>;
export function waitForInput<Default = never>(
  prompt: string,
  schema?: undefined,
  options?: InputOptions<Default>,
): Promise<unknown>;
export function waitForInput(prompt: string, schema?: object, options: InputOptions<unknown> = {}): Promise<unknown> {
  if (isLeftBehind()) return never();
  const { run, task } = requireScope("waitForInput()");
  if (typeof prompt !== "string" || prompt.trim() === "") {
    throw new TypeError("waitForInput() needs a text to ask with: waitForInput(prompt, schema?)");
  }
  // Plain JSON, as sent over the wire.
  if (schema !== undefined) refuseValidator(schema, "the schema of waitForInput()");
  const plain = schema === undefined ? null : (JSON.parse(JSON.stringify(schema)) as Record<string, unknown>);
  const checker = plain === null ? null : checkerOf(plain);
  const asked: Asked = {
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
  };
  if (run.durable !== null) return askDurably(asked, options);
  const [option] = Object.keys(options);
  if (option !== undefined) throw needsDurable(`the option ${option} of waitForInput()`, run.flow);
  return run.questions.ask(asked);
}

/** Checks and converts an answer like a parameter, because people type answers too. */
function checkerOf(schema: Record<string, unknown>): ParameterChecker {
  return new ParameterChecker({ type: "object", properties: { answer: schema }, required: ["answer"] });
}
