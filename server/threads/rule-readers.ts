/** The reader threads of the rule reader. */
import type { RuleQuestion } from "#actors/rule-engine/rule-messages";
import type { RuleReaders } from "#actors/specs/core-thread";
import { READ_LIMIT_MS, ReadPool } from "#storage/read/read-pool";

/** One thread can render templates while the other searches for an event. */
const READER_THREADS = 2;
/**
 * Time limit for the templates of one request. Their counted work ends after about 100 ms; this limit covers work that is
 * counted wrongly. On a busy machine 250 ms were not enough for that work.
 */
const RENDER_LIMIT_MS = 2_000;

const DECODER = new TextDecoder();

export function openRuleReaders(store: string): RuleReaders & Pick<ReadPool, "heaps"> {
  const pool = new ReadPool({ path: store, threads: READER_THREADS });
  return { ask: (question) => ask(pool, question), close: () => pool.close(), heaps: () => pool.heaps() };
}

async function ask(pool: ReadPool, question: RuleQuestion): Promise<string> {
  await pool.ready();
  const part =
    question.query === "rendered_actions"
      ? await pool.run(question.query, question.args, RENDER_LIMIT_MS)
      : await pool.run(question.query, question.args, READ_LIMIT_MS);
  if (part === null) throw new Error(`${question.query} has no answer`);
  return DECODER.decode(part.bytes);
}
