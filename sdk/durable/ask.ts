/** Questions to people in durable flows: a wait, whose answer resumes the run where it was. */
import { type Duration, parseDuration } from "../define/duration.ts";
import type { Asked } from "../run/questions.ts";
import { belongingTo } from "./identity.ts";
import { never } from "./suspension.ts";
import { type DurableWaitOptions, waitCall, waitIdentity } from "./wait-call.ts";
import { WaitTimeout } from "./wait-errors.ts";

/** Options of `waitForInput`. */
export interface InputOptions<Default = never> extends DurableWaitOptions {
  /** How long to wait for the answer. Default: for ever. */
  timeout?: Duration;
  /** The answer once the timeout has passed; without a default, WaitTimeout is thrown. */
  default?: Default;
}

export async function askDurably({ read, ...question }: Asked, options: InputOptions<unknown>): Promise<unknown> {
  const timeout = options.timeout === undefined ? undefined : parseDuration(options.timeout);
  const call = waitCall("waitForInput()");
  if (call === null) return await never();
  const { durable, caller } = call;
  const { identity, place } = waitIdentity(caller, "input", options.key, [question.prompt]);
  // An answer that does not fit is followed by the same question.
  for (let turn = 0; ; turn += 1) {
    const wait = await durable.arm({
      identity: turn === 0 ? identity : belongingTo(identity, "again", String(turn)),
      place,
      kind: "input",
      name: question.prompt,
      question: { ...question },
      ...(timeout === undefined ? {} : { timeout }),
    });
    const outcome = await durable.outcome(wait, options.hold);
    if (outcome.kind === "timed_out") {
      if ("default" in options) return options.default;
      throw new WaitTimeout(`the answer to "${question.prompt}"`, timeout ?? 0);
    }
    const value = outcome.kind === "answered" ? await read(outcome.value) : null;
    if (value !== null) return value.value;
  }
}
