/**
 * Rows of many stream messages with one statement. Rows with long texts are left out, so that a thousand of them do not fill the
 * memory: they are read one by one.
 *
 * SQLite only: json_each (= ANY of an array).
 */
import type { StreamKind } from "#protocol/wire/feed";
import type { SqlValue } from "../sqlite/driver.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type EventRow, eventContext, renderEvent, SELECT_EVENT } from "./event-record.ts";
import { type RunRecordRow, renderRun, SELECT_RUN } from "./run-record.ts";
import { renderTaskRun, SELECT_TASK_RUN, type TaskRunRecordRow } from "./task-run-record.ts";

/** Bytes of each text without a bound of its own. */
const TEXT_BYTES_MAX = 4_096;

function short(...columns: string[]): string {
  return columns.map((column) => `AND octet_length(coalesce(${column}, '')) <= ${TEXT_BYTES_MAX}`).join(" ");
}

const LISTED = "IN (SELECT value FROM json_each(?))";
const RUNS = `${SELECT_RUN} WHERE r.id ${LISTED} ${short("r.parameters", "r.state_message", "r.state_details", "r.task_counts")}`;
const TASK_RUNS = `${SELECT_TASK_RUN} WHERE t.id ${LISTED} ${short("t.state_message", "t.state_details", "t.parents")}`;
const EVENTS = `${SELECT_EVENT} WHERE e.id ${LISTED}
  ${short("e.payload", "e.resource", "e.related", "e.state_message", "r.parameters")}`;

/** The JSON texts of the rows that exist and are short, by id; none for kinds of which there are few messages. */
export function messageTexts(statements: Statements, kind: StreamKind, ids: readonly number[]): Map<number, string> {
  if (ids.length === 0) return new Map();
  switch (kind) {
    case "run.updated":
      return texts<RunRecordRow>(statements, RUNS, ids, renderRun);
    case "task_run.updated":
      return texts<TaskRunRecordRow>(statements, TASK_RUNS, ids, renderTaskRun);
    case "event.created": {
      const context = eventContext(statements);
      return texts<EventRow>(statements, EVENTS, ids, (row) => renderEvent(row, context));
    }
    default:
      return new Map();
  }
}

function texts<Row extends [id: number, ...SqlValue[]]>(
  statements: Statements,
  sql: string,
  ids: readonly number[],
  render: (row: Row) => string,
): Map<number, string> {
  const rows = statements.raw<Row>(sql).all(JSON.stringify([...new Set(ids)]));
  return new Map(rows.map((row) => [row[0], render(row)]));
}
