/** GET /api/runs/{id}/input: a person's answers to the pauses of a run. */
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued, wholeAnswer } from "./answer-part.ts";

export interface AnswersArguments extends Continued {
  id: number;
  /** Only answers after this ordinal. */
  after?: number;
}

/**
 * `{input: latest}`, null without an answer. `inputs` holds all answers in order; it is left out where `input` holds the only
 * answer, because clients compare the whole record in that case.
 */
export function answersOfRun(statements: Statements, args: AnswersArguments): AnswerPart<AnswersArguments> {
  const { id: run, made, after = -1 } = args;
  let head = "";
  if (made === undefined) {
    // Two rows show whether there are more than one; a run may have many.
    const newest = "SELECT value FROM answers WHERE run_id = ? ORDER BY ordinal DESC LIMIT 2";
    const [latest, another] = statements.raw<[string]>(newest).all(run);
    const input = latest?.[0] ?? "null";
    if (latest === undefined || (another === undefined && input !== "null")) return wholeAnswer(`{"input":${input}}`);
    head = `{"input":${input},"inputs":`;
  }
  const sql = "SELECT ordinal, value FROM answers WHERE run_id = ? AND ordinal > ? ORDER BY ordinal";
  const rows = statements.raw<[number, string]>(sql).iterate(run, after);
  const part = arrayPart(
    args,
    rows,
    ([, value]) => value,
    ([ordinal]) => ({ after: ordinal }),
  );
  return { ...part, text: `${head}${part.text}${part.next === null ? "}" : ""}` };
}
