/** Entry of a reader thread: one read-only handle, one task at a time, no transaction between queries. */
import { type Sliced, sliceReport } from "#protocol/report-slices";
import { type QueryName, runQuery } from "./queries/named.ts";
import { openReadHandle } from "./read-handle.ts";
import { loadPool, type ReadTask, type SliceTask } from "./read-pool.ts";
import { Statements } from "./statements.ts";

const { move } = await loadPool();

let open: { path: string; statements: Statements } | null = null;

function statementsOf(path: string): Statements {
  if (open?.path !== path) open = { path, statements: new Statements(openReadHandle(path)) };
  return open.statements;
}

/** Answers a query or cuts up a report; null is a task of nothing, which shows that the thread runs. */
export default function perform<N extends QueryName>(task: ReadTask<N> | SliceTask | null): unknown {
  if (task === null) return null;
  return "report" in task ? (sliceReport(task.report) satisfies Sliced) : answer(task);
}

/** The result as bytes whose memory goes over to the caller; null when what the query is about does not exist. */
function answer<N extends QueryName>(task: ReadTask<N>): unknown {
  const text = runQuery(statementsOf(task.path), task.name, task.args);
  // Bytes of their own: a slice of Node's shared pool could not be handed over.
  return text === null ? null : move(new TextEncoder().encode(text));
}
