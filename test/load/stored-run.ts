/** Checks by reading that acknowledged work is stored: figures for lost work would be worthless. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Fleet } from "./fleet.ts";
import { LoadFailed } from "./load-failed.ts";
import { field, getJson } from "./target.ts";

const LOOKED_AT = 5;
/** A server may answer before its readers see the last log line. */
const READ_LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 20;

/** Reads the newest runs of this fleet. Rejects if one is not Completed or lacks task runs or log lines. */
export async function checkStoredRuns(fleet: Fleet): Promise<void> {
  const page = await getJson(fleet.endpoint, `/api/runs?limit=${LOOKED_AT}&name=${fleet.prefix}`);
  const items = field(page, "items");
  const runs: unknown[] = Array.isArray(items) ? items : [];
  if (runs.length === 0) throw new LoadFailed("no run is stored");
  for (const run of runs) {
    const limit = performance.now() + READ_LIMIT_MS;
    let fault = await faultOf(fleet, Number(field(run, "id")));
    while (fault !== null && performance.now() < limit) {
      await sleep(LOOK_EVERY_MS);
      fault = await faultOf(fleet, Number(field(run, "id")));
    }
    if (fault !== null) throw new LoadFailed(fault);
  }
}

async function faultOf({ endpoint, size }: Fleet, id: number): Promise<string | null> {
  const run = await getJson(endpoint, `/api/runs/${id}`);
  const tasks = await getJson(endpoint, `/api/runs/${id}/tasks`);
  const logs = field(await getJson(endpoint, `/api/runs/${id}/logs?limit=10000`), "items");
  const state = String(field(field(run, "state"), "type"));
  const ended = Array.isArray(tasks) ? tasks.filter((task) => field(field(task, "state"), "type") === "Completed").length : 0;
  const lines = Array.isArray(logs) ? logs.length : 0;
  const linesExpected = size.logs === 0 ? 0 : size.logs + 1;
  if (state !== "Completed") return `run ${id} is stored as ${state}, not as Completed`;
  if (ended !== size.tasks) return `run ${id} has ${ended} completed task runs, not ${size.tasks}`;
  return lines === linesExpected ? null : `run ${id} has ${lines} log lines, not ${linesExpected}`;
}
