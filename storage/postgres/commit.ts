/** Sends a folded batch as one transaction. */
import type { CommitMessages, Fence } from "./commit-messages.ts";
import type { Connection } from "./connection.ts";
import { failedStatement, isDivergence } from "./errors.ts";
import type { FoldedBatch } from "./fold-batch.ts";

/** A statement that found other rows than the fold expected. */
export interface Divergence {
  statement: string;
}

/**
 * Commits in one round trip. Returns null, or where the store differed from what was expected; then nothing is stored.
 * @throws for an error of PostgreSQL, or of the connection, after which the commit may be stored
 */
export async function commitFolded(
  connection: Connection,
  commits: CommitMessages,
  owner: Fence["owner"],
  { steps, counters, result, commands }: FoldedBatch,
): Promise<Divergence | null> {
  const { number, first_event_id, first_seq, logs } = result;
  const stored = JSON.stringify([first_event_id, first_seq, ...logs]);
  const fence: Fence = { owner, number, counters, result: stored, commands: JSON.stringify(commands) };
  try {
    await connection.send(commits.messages(fence, steps));
    return null;
  } catch (cause) {
    // A failed commit leaves open which of its statements were prepared.
    commits.forget();
    if (!isDivergence(cause)) throw cause;
    return { statement: commits.describe(failedStatement(cause), true, steps) };
  }
}
