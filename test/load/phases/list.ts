/** Pages of 50 runs by every sort and every filter, one request at a time on a store with many ended runs. */
import { type Figure, figure } from "../figure.ts";
import { HttpConnection } from "../http-connection.ts";
import { LoadFailed } from "../load-failed.ts";
import { SeededRandom } from "../random.ts";
import { Samples } from "../samples.ts";
import { field, getJson } from "../target.ts";
import type { PhaseContext, PhaseResult } from "./phase.ts";

const PAGE = 50;
const READ_BYTES = 65_536;
/** Requests of each kind, unless the time limit is reached first. */
const REQUESTS_MAX = 200;
const WARM_UP_REQUESTS = 3;
/** A kind of page that takes seconds on a large store must not delay the others. */
const KIND_LIMIT_MS = 5_000;
const SORTS = ["created_desc", "created_asc", "start_desc", "start_asc", "duration_desc", "duration_asc", "name_asc"];

export async function listPhase({ target, fleet, options }: PhaseContext): Promise<PhaseResult> {
  const counts = await getJson(target.endpoint, "/api/counts");
  const stored = sum(field(counts, "runs"));
  const newest = await getJson(target.endpoint, "/api/runs?limit=1");
  const items = field(newest, "items");
  const run: unknown = Array.isArray(items) ? items[0] : undefined;
  if (run === undefined) return { figures: [], notes: ["left out: the store has no runs (see --seed-runs)"] };
  const random = new SeededRandom(options.seed);
  const connection = new HttpConnection(fleet.endpoint, READ_BYTES);
  const figures: Figure[] = figure("runs in the store", "", stored);
  try {
    for (const [name, path] of kinds(run, random)) figures.push(...(await measure(connection, name, path)));
  } finally {
    connection.close();
  }
  return { figures, notes: [] };
}

/** Name and path of each kind of page; the path is computed for each request. */
function kinds(run: unknown, random: SeededRandom): [string, () => string][] {
  const newestId = Number(field(run, "id"));
  const createdAt = Number(field(run, "created_at"));
  const value = (name: string) => encodeURIComponent(String(field(run, name)));
  const middle = Math.max(1, Math.floor(newestId / 2));
  const filters: Record<string, string> = {
    project: `project=${value("project")}`,
    flow: `flow=${value("flow_name")}`,
    flow_id: `flow_id=${value("flow_id")}`,
    "state_type, common": "state_type=Completed",
    "state_type, rare": "state_type=Failed",
    state_name: "state_name=Completed",
    "name, found late": `name=${encodeURIComponent(`-${middle}`)}`,
    "name, never found": "name=no-run-has-this-name",
    tags: "tags=nightly",
    start_after: `start_after=${createdAt - 1_000_000}`,
    start_before: `start_before=${createdAt}`,
    schedule_id: "schedule_id=1",
    backfill_id: "backfill_id=1",
    scheduled_after: `scheduled_after=${createdAt}`,
    "flow_id + state_type": `flow_id=${value("flow_id")}&state_type=Failed`,
  };
  return [
    ...SORTS.map((sort): [string, () => string] => [`sort ${sort}`, () => `/api/runs?limit=${PAGE}&sort=${sort}`]),
    ["any page by cursor", () => `/api/runs?limit=${PAGE}&cursor=${1 + random.below(newestId)}`],
    ...Object.entries(filters).map(([name, query]): [string, () => string] => [
      `filter ${name}`,
      () => `/api/runs?limit=${PAGE}&${query}`,
    ]),
    ...SORTS.slice(2).map((sort): [string, () => string] => [
      `state_type + sort ${sort}`,
      () => `/api/runs?limit=${PAGE}&state_type=Completed&sort=${sort}`,
    ]),
    ["task runs, newest", () => `/api/task-runs?limit=${PAGE}`],
    ["events, newest", () => `/api/events?limit=${PAGE}`],
    ["one run", () => `/api/runs/${newestId}`],
    ["counts", () => "/api/counts"],
    ["flows", () => "/api/flows"],
  ];
}

async function measure(connection: HttpConnection, name: string, path: () => string): Promise<Figure[]> {
  const samples = new Samples();
  const endAt = performance.now() + KIND_LIMIT_MS;
  for (let n = -WARM_UP_REQUESTS; n < REQUESTS_MAX && (samples.count === 0 || performance.now() < endAt); n++) {
    const wanted = path();
    const sentAt = performance.now();
    const answer = await connection.get(wanted);
    if (answer.status !== 200) throw new LoadFailed(`GET ${wanted} answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    if (n >= 0) samples.add(performance.now() - sentAt);
  }
  const [p50, p99] = samples.quantiles([0.5, 0.99]);
  return [...figure(`${name} p50`, "ms", p50 ?? null), ...figure(`${name} p99`, "ms", p99 ?? null)];
}

function sum(counts: unknown): number {
  if (typeof counts !== "object" || counts === null) return 0;
  return Object.values(counts).reduce<number>((total, n) => total + Number(n), 0);
}
