/** Sends a folded batch as one transaction. */
import type { CommitMessages, Fence, Rows } from "./commit-messages.ts";
import type { Connection } from "./connection.ts";
import { deleteFlowRows, deleteRuns } from "./delete-rows.ts";
import { failedStatement, isDivergence } from "./errors.ts";
import type { FoldedBatch, SetOperation } from "./fold-batch.ts";
import { trimPostgresHistory } from "./trim-history.ts";

/** A statement that found other rows than the fold expected. */
export interface Divergence {
  statement: string;
}

class Diverged extends Error {}

/**
 * Commits in one round trip, or in several where the batch has operations on sets of rows, which read what is stored. Returns null,
 * or where the store differed from what was expected; then nothing is stored.
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
  const send = (first: Fence | null, rows: readonly Rows[]) => sendRows(connection, commits, first, rows);
  try {
    if (steps.every((step) => step instanceof Map)) await send(fence, steps);
    else await inTransaction(connection, async () => sendSteps(connection, steps, fence, send));
    return null;
  } catch (cause) {
    // A failed commit leaves open which of its statements were prepared.
    commits.forget();
    if (cause instanceof Diverged) return { statement: cause.message };
    throw cause;
  }
}

/** Rows up to the next operation on a set of rows go together; the fence is first. */
async function sendSteps(
  connection: Connection,
  steps: readonly (Rows | SetOperation)[],
  fence: Fence,
  send: (first: Fence | null, rows: readonly Rows[]) => Promise<void>,
): Promise<void> {
  let first: Fence | null = fence;
  let rows: Rows[] = [];
  for (const step of steps) {
    if (step instanceof Map) {
      rows.push(step);
      continue;
    }
    await send(first, rows);
    first = null;
    rows = [];
    await apply(connection, step);
  }
  if (rows.length > 0) await send(null, rows);
}

function apply(connection: Connection, operation: SetOperation): Promise<void> {
  if (operation.kind === "delete_runs") return deleteRuns(connection, operation.ids);
  if (operation.kind === "delete_flow") return deleteFlowRows(connection, operation.id);
  return trimPostgresHistory(connection, operation, operation.given);
}

async function sendRows(
  connection: Connection,
  commits: CommitMessages,
  fence: Fence | null,
  rows: readonly Rows[],
): Promise<void> {
  try {
    await connection.send(commits.messages(fence, rows));
  } catch (cause) {
    throw isDivergence(cause) ? new Diverged(commits.describe(failedStatement(cause), fence !== null, rows)) : cause;
  }
}

async function inTransaction(connection: Connection, work: () => Promise<void>): Promise<void> {
  await connection.run("BEGIN");
  try {
    await work();
    await connection.run("COMMIT");
  } catch (cause) {
    await connection.run("ROLLBACK").catch(() => connection.drop());
    throw cause;
  }
}
