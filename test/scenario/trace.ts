/** The effects of a scenario step as lines of text: answers, row operations, log lines and stream messages, in order. */
import type { Operation } from "../support/decision-record.ts";
import { type Outcome, START_US } from "../support/dispatch-kit.ts";

/** Columns that are redundant, or differ without meaning. */
const LEFT_OUT = new Set([
  "op",
  "external_id",
  "source_dir",
  "created_at",
  "last_seen_at",
  "updated_at",
  "occurred",
  "last_contact",
]);
const TIMES = new Set([
  ...["state_timestamp", "start_time", "end_time", "scheduled_time", "due"],
  ...["next_fire", "consumed_until", "anchor", "fire", "fired_at", "last_fired"],
]);
/** Default values of columns. */
const USUAL = new Set<unknown>([null, "{}", "[]", 0]);

export function traceOf(outcome: Outcome): string[] {
  return [
    ...outcome.replies.map(({ command, status, body }) => `  answer #${command} ${status}${bodyText(body)}`),
    ...outcome.ops.map((operation) => `  ${operationText(operation)}`),
    ...outcome.logs.map(
      ({ run_id, attempt, lines }) => `  log run=${run_id} attempt=${attempt} ${JSON.stringify(lines.map((line) => line[4]))}`,
    ),
    ...outcome.orders.map((order) => `  order ${JSON.stringify(order)}`),
    ...(outcome.stream.length > 0 ? [`  stream ${outcome.stream.map(({ kind, id }) => `${kind}(${id})`).join(" ")}`] : []),
  ];
}

function operationText(operation: Operation): string {
  const values = Object.entries(operation).flatMap(([column, value]) => {
    if (LEFT_OUT.has(column) || USUAL.has(value)) return [];
    return [`${column}=${TIMES.has(column) ? timeText(Number(value)) : value}`];
  });
  return [operation.op, ...values].join(" ");
}

/** The start of a scenario is +0 s. */
function timeText(us: number): string {
  return `+${(us - START_US) / 1e6}s`;
}

/** The essential fields of run records; other bodies whole. */
function bodyText(body: Record<string, unknown>): string {
  if (Object.keys(body).length === 0) return "";
  // Only the settings that scenarios change.
  if ("max_engines" in body) return ` ${JSON.stringify({ resources: body["resources"] })}`;
  const state = body["state"] as { type: string; name: string; message: string | null } | undefined;
  if (state === undefined || body["flow_name"] === undefined) return ` ${JSON.stringify(withoutTimes(body))}`;
  const name = state.name === state.type ? state.type : `${state.type}/${state.name}`;
  const message = state.message === null ? "" : ` "${state.message}"`;
  return ` run ${body["id"]} "${body["name"]}" ${name}${message} attempt=${body["attempt"]} by ${body["created_by"]}`;
}

/** Fields of answers that hold a time. */
const ANSWERED_TIMES: ReadonlySet<string> = new Set(["timestamp", "applied_at"]);

function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, ANSWERED_TIMES.has(key) ? timeText(Number(inner)) : withoutTimes(inner)]),
  );
}
