/** The rule reader with its reader threads. */
import { RULE_READER, RULES } from "#actors/names";
import { RuleReader } from "#actors/rule-reader/shell";
import type { RuleQuestion } from "#actors/rules/messages";
import type { ActorSpec } from "#runtime/actor";
import type { ThreadHost } from "#runtime/thread";
import { READ_LIMIT_MS, ReadPool } from "#storage/read-pool";

/** One fills in templates while another looks for an event. */
const READER_THREADS = 2;
/** Time for the templates of one question. What they may cost is counted as well, and ends far below. */
const RENDER_LIMIT_MS = 250;

const DECODER = new TextDecoder();

export function ruleReader(databasePath: string, thread: ThreadHost): ActorSpec {
  return {
    name: RULE_READER,
    start: ({ generation }, out) => {
      const pool = new ReadPool({ path: databasePath, threads: READER_THREADS });
      if (generation > 1) out.send(RULES, { kind: "ReaderStarted" });
      return new RuleReader({
        ask: (question) => ask(pool, question),
        done: (message) => thread.host.send(RULES, message),
        close: () => pool.close(),
      });
    },
  };
}

async function ask(pool: ReadPool, question: RuleQuestion): Promise<string> {
  await pool.ready();
  const bytes =
    question.query === "rendered_actions"
      ? await pool.run(question.query, question.args, RENDER_LIMIT_MS)
      : await pool.run(question.query, question.args, READ_LIMIT_MS);
  if (bytes === null) throw new Error(`${question.query} has no answer`);
  return DECODER.decode(bytes);
}
