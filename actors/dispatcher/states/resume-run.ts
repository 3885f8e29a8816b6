/** POST /api/runs/{id}/resume: the answer to a pause, if it matches the question; also queues the next attempt. */

import { refuse, refuseResume } from "#protocol/errors";
import { ANSWER_BYTES_MAX } from "#protocol/limits";
import { canonicalJson, parseJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import { checkAnswer } from "#protocol/values/parameters";
import type { Command } from "#protocol/wire/command";
import type { Turn } from "../../core/turn.ts";
import { settleWait } from "../durable/settle.ts";
import { moveRun } from "./move-run.ts";

export function resumeRunCommand(turn: Turn, command: Command<"ResumeRun">): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  if (run.state.type !== "Paused") return turn.answers.refuse(command, refuseResume(run.state));
  const { input } = command.body;
  const wrong = misfit(run.state.details, input);
  if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  const answer = canonicalJson(input);
  if (exceedsBytes(answer, ANSWER_BYTES_MAX))
    return turn.answers.refuse(command, refuse("value_too_large", "input", ANSWER_BYTES_MAX));
  run.answers += 1;
  turn.rows.put("insert_answer", { run_id: run.id, ordinal: run.answers, value: answer, created_at: turn.nowUs });
  const asked = (run.durable?.park?.waits ?? [])
    .map((id) => turn.state.durable.openWait(id))
    .find((wait) => wait?.kind === "input");
  if (asked !== undefined) settleWait(turn, asked, { kind: "answered", value: parseJson(answer) });
  else moveRun(turn, run, { type: "Scheduled", name: "Resuming", timestamp: turn.nowUs, message: null, details: {} });
  turn.answers.run(command, 200, run);
}

/**
 * Why an answer is refused, or null. Engines of other implementations accept any answer and convert it themselves, so only an
 * answer that none of them could convert is refused for them: an object of the wrong shape.
 */
function misfit({ schema, answer_checked }: Record<string, unknown>, input: unknown): string | null {
  const isForm = typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object";
  return answer_checked === true || isForm ? checkAnswer(schema, input) : null;
}
