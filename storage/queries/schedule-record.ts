/**
 * Schedule records (interface: "ScheduleRow").
 *
 * SQLite only: json_each (= ANY of an array).
 */
import { bytesToUuid } from "#protocol/values/uuid";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { flag, quoted } from "./json.ts";

type ScheduleRow = [
  id: number,
  external_id: Uint8Array,
  flow_id: number,
  schedule: string,
  catchup: string,
  catchup_max: number,
  active: number,
  paused_reason: string | null,
  paused_until: number | null,
  source: string,
  code_key: string | null,
  persist: number,
  created_at: number,
  updated_at: number,
  next_fire: number | null,
  skipped: number,
  parameters: string | null,
];

/** `skipped` counts the skipped fires after the first bound value. */
const SELECT_SCHEDULE = `SELECT s.id, s.external_id, s.flow_id, s.schedule, s.catchup, s.catchup_max, s.active, s.paused_reason,
  s.paused_until, s.source, s.code_key, s.persist, s.created_at, s.updated_at, s.next_fire,
  (SELECT count(*) FROM skips k WHERE k.schedule_id = s.id AND k.fire > ?), s.parameters FROM schedules s`;

function render(row: ScheduleRow): string {
  const [id, externalId, flow, schedule, catchup, catchupMax, active, reason, until, source, codeKey, persist, ...rest] = row;
  const [created, updated, nextFire, skipped, parameters] = rest;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","flow_id":${flow},"schedule":${schedule},"catchup":"${catchup}",` +
    `"catchup_max":${catchupMax},"active":${flag(active)},"paused_reason":${quoted(reason)},"paused_until":${until},` +
    `"source":${quoted(source)},"code_key":${quoted(codeKey)},"persist":${flag(persist)},"created_at":${created},` +
    `"updated_at":${updated},"next_fire":${active === 0 ? null : nextFire},"skipped":${skipped}${parameters === null ? "" : `,"parameters":${parameters}`}}`
  );
}

/** The schedule as JSON text, or null for an unknown id. */
export function scheduleById(statements: Statements, id: number, nowUs: number): string | null {
  const row = statements.raw<ScheduleRow>(`${SELECT_SCHEDULE} WHERE s.id = ?`).get(nowUs, id);
  return row === undefined ? null : render(row);
}

export interface FlowSchedulesArguments extends Continued {
  id: number;
  now_us: number;
  after?: number;
}

/** A part of the schedules of a flow, in order of id. */
export function flowSchedules(statements: Statements, args: FlowSchedulesArguments): AnswerPart<FlowSchedulesArguments> {
  const sql = `${SELECT_SCHEDULE} WHERE s.flow_id = ? AND s.id > ? ORDER BY s.id`;
  const rows = statements.raw<ScheduleRow>(sql).iterate(args.now_us, args.id, args.after ?? 0);
  return arrayPart(args, rows, render, ([after]) => ({ after }));
}

/** Schedules of each flow in order of id, as a JSON array; flows without any are left out. */
export function schedulesOf(statements: Statements, flows: readonly number[], nowUs: number): Map<number, string> {
  const sql = `${SELECT_SCHEDULE} WHERE s.flow_id IN (SELECT value FROM json_each(?)) ORDER BY s.id`;
  const texts = new Map<number, string[]>();
  for (const row of statements.raw<ScheduleRow>(sql).all(nowUs, JSON.stringify(flows))) {
    const known = texts.get(row[2]);
    if (known === undefined) texts.set(row[2], [render(row)]);
    else known.push(render(row));
  }
  return new Map([...texts].map(([flow, schedules]) => [flow, `[${schedules.join(",")}]`]));
}
