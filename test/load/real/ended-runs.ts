/** Reads which runs of a flow have ended, and when. */
import type { HttpConnection } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import { field } from "../target.ts";

const PAGE_LIMIT = 500;
const ENDED_STATES = ["Completed", "Failed", "TimedOut", "Crashed", "Cancelled"];
/** Runs whose times are read: the newest, among which the last end is, because runs begin in their order. */
const READ_RUNS_MAX = 5_000;

/** Runs of the flow that have ended since the store began. */
export async function endedCount(control: HttpConnection, flow: number): Promise<number> {
  const { body, status } = await control.get(`/api/runs/counts?flow_id=${flow}`);
  if (status !== 200) throw new LoadFailed(`GET /api/runs/counts answered ${status}: ${body}`);
  const states = field(JSON.parse(body), "states");
  return ENDED_STATES.reduce((sum, state) => sum + Number(field(states, state) ?? 0), 0);
}

export async function newestRun(control: HttpConnection): Promise<number> {
  const { body } = await control.get("/api/runs?limit=1");
  const [run] = itemsOf(body);
  return Number(field(run, "id") ?? 0);
}

export interface EndedRun {
  createdUs: number;
  startUs: number;
  endUs: number;
  completed: boolean;
}

/** Times of the runs that the round has created, of the newest ones if there are many. */
export async function endedRuns(control: HttpConnection, flow: number, afterId: number, count: number): Promise<EndedRun[]> {
  const runs: EndedRun[] = [];
  let cursor: unknown = null;
  do {
    const from = cursor === null ? "" : `&cursor=${encodeURIComponent(String(cursor))}`;
    const { body, status } = await control.get(`/api/runs?flow_id=${flow}&limit=${PAGE_LIMIT}${from}`);
    if (status !== 200) throw new LoadFailed(`GET /api/runs answered ${status}: ${body}`);
    for (const run of itemsOf(body)) {
      if (Number(field(run, "id")) <= afterId) continue;
      const [createdUs, startUs, endUs] = ["created_at", "start_time", "end_time"].map((name) => Number(field(run, name)));
      const completed = field(field(run, "state"), "type") === "Completed";
      runs.push({ createdUs: createdUs ?? 0, startUs: startUs ?? 0, endUs: endUs ?? 0, completed });
    }
    cursor = field(JSON.parse(body), "next_cursor") ?? null;
  } while (cursor !== null && runs.length < Math.min(count, READ_RUNS_MAX));
  return runs;
}

function itemsOf(body: string): unknown[] {
  const items = field(JSON.parse(body), "items");
  return Array.isArray(items) ? (items as unknown[]) : [];
}

/** By the server's clock, which is this machine's. */
export function lastEndUs(runs: readonly EndedRun[]): number {
  return Math.max(...runs.map(({ endUs }) => endUs));
}
