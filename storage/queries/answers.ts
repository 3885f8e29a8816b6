/** GET /api/runs/{id}/input: a person's answers to the pauses of a run. */
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued, wholeAnswer } from "./answer-part.ts";

export interface AnswersArguments extends Continued {
  id: number;
  /** Number of answers in earlier parts. */
  count?: number;
}

/**
 * `{input: latest}`, null without an answer. `inputs` holds all answers in order; it is left out where `input` holds the only
 * answer, because clients compare the whole record in that case.
 */
export function answersOfRun(statements: Statements, args: AnswersArguments): AnswerPart<AnswersArguments> {
  const { id: run, made, count: before = 0 } = args;
  const count = statements.raw<[number]>("SELECT count(*) FROM answers WHERE run_id = ?").get(run)?.[0] ?? 0;
  const newest = "SELECT value FROM answers WHERE run_id = ? ORDER BY ordinal DESC LIMIT 1";
  const latest = made === undefined ? (statements.raw<[string]>(newest).get(run)?.[0] ?? "null") : "";
  const said = count === 0 || (count === 1 && latest !== "null");
  if (made === undefined && said) return wholeAnswer(`{"input":${latest}}`);
  const sql = "SELECT value FROM answers WHERE run_id = ? ORDER BY ordinal LIMIT -1 OFFSET ?";
  const rows = statements.raw<[string]>(sql).iterate(run, before);
  const part = arrayPart(
    args,
    rows,
    ([value]) => value,
    (_last, done) => ({ count: before + done }),
  );
  const opened = made === undefined ? `{"input":${latest},"inputs":${part.text}` : part.text;
  return { ...part, text: part.next === null ? `${opened}}` : opened };
}
