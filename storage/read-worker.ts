/** Entry of a reader thread: one read-only handle, one query at a time, no transaction between queries. */
import { type QueryName, runQuery } from "./queries/named.ts";
import { openReadHandle } from "./read-handle.ts";
import { loadPool, type ReadTask } from "./read-pool.ts";
import { Statements } from "./statements.ts";

const { move } = await loadPool();

let open: { path: string; statements: Statements } | null = null;

function statementsOf(path: string): Statements {
  if (open?.path !== path) open = { path, statements: new Statements(openReadHandle(path)) };
  return open.statements;
}

/** The result as bytes whose memory goes over to the caller; null when what the query is about does not exist, or without one. */
export default function answer<N extends QueryName>(task: ReadTask<N> | null): unknown {
  if (task === null) return null;
  const text = runQuery(statementsOf(task.path), task.name, task.args);
  // Bytes of their own: a slice of Node's shared pool could not be handed over.
  return text === null ? null : move(new TextEncoder().encode(text));
}
