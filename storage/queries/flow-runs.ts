/**
 * The latest runs of several flows.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection), json_each (unnest). SQLite reads each flow and each part of
 * the index by a statement of its own, PostgreSQL all of them by one, because each statement takes a round trip.
 */
import { COUNT_KIND, ENDED_CODES, stateType } from "../schema/codes.ts";
import type { Statements } from "../sqlite/statements.ts";
import { quoted } from "./json.ts";

/** States by flow. */
type States = ReadonlyMap<number, readonly number[]>;

type RecentRow = [id: number, state_type: number, state_name: string | null, total_run_time: number | null, flow_id: number];

const COLUMNS = "SELECT id, state_type, state_name, total_run_time, flow_id FROM runs";
/** The part of the index with the runs of one state. */
const UNFINISHED = `${COLUMNS} INDEXED BY runs_unfinished WHERE flow_id = ? AND end_time IS NULL`;
const ENDED = new Map(
  ENDED_CODES.map((code) => [
    code,
    `${COLUMNS} INDEXED BY runs_ended WHERE flow_id = ? AND state_type = ${code} AND end_time IS NOT NULL`,
  ]),
);
const PARTS = [UNFINISHED, ...ENDED.values()];

export const ENDED_STATES: ReadonlySet<number> = new Set(ENDED_CODES);

/** States in which the flows have runs, so that a list of many flows reads no other part of the index. */
export function statesOf(statements: Statements, flows: readonly number[]): Map<number, number[]> {
  const sql = `SELECT flow_id, state_type FROM counts WHERE flow_id IN (SELECT value FROM json_each(?)) AND kind = ? AND count > 0`;
  const states = new Map<number, number[]>(flows.map((id) => [id, []]));
  for (const [flow, code] of statements.raw<[number, number]>(sql).all(JSON.stringify(flows), COUNT_KIND.runs))
    states.get(flow)?.push(code);
  return states;
}

/** The latest runs of each flow in these states, newest first, as a JSON array: merges the first runs of each index part. */
export function latestRuns(statements: Statements, states: States, count: number): Map<number, string> {
  const rows = statements.database.kind === "sqlite" ? readEach : readTogether;
  const byFlow = new Map<number, RecentRow[]>([...states.keys()].map((flow) => [flow, []]));
  for (const row of rows(statements, states, count)) byFlow.get(row[4])?.push(row);
  return new Map([...byFlow].map(([flow, found]) => [flow, shown(found, count)]));
}

function shown(rows: RecentRow[], count: number): string {
  rows.sort((a, b) => b[0] - a[0]);
  const runs = rows.slice(0, count).map(([id, type, name, duration]) => {
    const typeName = stateType(type);
    return `[${id},"${typeName}",${quoted(name ?? typeName)},${duration}]`;
  });
  return `[${runs.join(",")}]`;
}

function partOf(code: number): string {
  return ENDED.get(code) ?? UNFINISHED;
}

function readEach(statements: Statements, states: States, count: number): RecentRow[] {
  return [...states].flatMap(([flow, codes]) =>
    [...new Set(codes.map(partOf))].flatMap((part) =>
      statements.raw<RecentRow>(`${part} ORDER BY id DESC LIMIT ?`).all(flow, count),
    ),
  );
}

/** One text, whichever flows have runs in which part: flows without are not in the list of the part. */
function readTogether(statements: Statements, states: States, count: number): RecentRow[] {
  const flowsIn = (part: string) => [...states].filter(([, codes]) => codes.some((code) => partOf(code) === part));
  const lists = PARTS.map((part) => JSON.stringify(flowsIn(part).map(([flow]) => flow)));
  const sql = PARTS.map((part) => {
    const runs = `${part.replace("flow_id = ?", "flow_id = f.value")} ORDER BY id DESC LIMIT ?`;
    return `(SELECT found.* FROM json_each(?) f, LATERAL (${runs}) AS found)`;
  });
  return statements.raw<RecentRow>(sql.join(" UNION ALL ")).all(...lists.flatMap((list) => [list, count]));
}
