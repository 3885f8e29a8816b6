/** Schedule records (interface: "ScheduleRow"). */
import { bytesToUuid } from "../external-id.ts";
import type { Statements } from "../statements.ts";
import { flag, quoted } from "./json.ts";

type ScheduleRow = [
  id: number,
  external_id: Uint8Array,
  flow_id: number,
  schedule: string,
  active: number,
  catchup: string,
  catchup_max: number,
  persist: number,
  source: string,
  code_key: string | null,
  next_fire: number | null,
  paused_reason: string | null,
  paused_until: number | null,
  skipped: number,
  created_at: number,
  updated_at: number,
];

/** `skipped` counts the skipped fires after the moment bound first. */
const SELECT_SCHEDULE = `SELECT s.id, s.external_id, s.flow_id, s.schedule, s.active, s.catchup, s.catchup_max, s.persist, s.source,
  s.code_key, s.next_fire, s.paused_reason, s.paused_until,
  (SELECT count(*) FROM skips k WHERE k.schedule_id = s.id AND k.fire > ?), s.created_at, s.updated_at FROM schedules s`;

function render(row: ScheduleRow): string {
  const [id, externalId, flow, schedule, active, catchup, catchupMax, persist, source, codeKey, nextFire, ...rest] = row;
  const [reason, until, skipped, created, updated] = rest;
  return (
    `{"id":${id},"external_id":"${bytesToUuid(externalId)}","flow_id":${flow},"schedule":${schedule},"active":${flag(active)},` +
    `"catchup":"${catchup}","catchup_max":${catchupMax},"persist":${flag(persist)},"source":${quoted(source)},` +
    `"code_key":${quoted(codeKey)},"next_fire":${active === 0 ? null : nextFire},"paused_reason":${quoted(reason)},` +
    `"paused_until":${until},"skipped":${skipped},"created_at":${created},"updated_at":${updated}}`
  );
}

/** The schedule as JSON text, or null when there is none. */
export function scheduleById(statements: Statements, id: number, nowUs: number): string | null {
  const row = statements.raw<ScheduleRow>(`${SELECT_SCHEDULE} WHERE s.id = ?`).get(nowUs, id);
  return row === undefined ? null : render(row);
}

/** Schedules of a flow in order of id, as a JSON array. */
export function schedulesOfFlow(statements: Statements, flow: number, nowUs: number): string {
  const rows = statements.raw<ScheduleRow>(`${SELECT_SCHEDULE} WHERE s.flow_id = ? ORDER BY s.id`).all(nowUs, flow);
  return `[${rows.map(render).join(",")}]`;
}
