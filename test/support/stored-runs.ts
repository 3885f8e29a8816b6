/** The stored data of a server, read through its interface and, after its stop, from its file. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openReadHandle } from "#storage/read/read-handle";

interface Item {
  id: number;
  name: string;
  run_id: number;
}

/** Every item of a list endpoint, page by page. */
async function* pages(url: string, path: string): AsyncGenerator<Item> {
  for (let cursor: number | null = null; ; ) {
    const response = await fetch(`${url}${path}${cursor === null ? "" : `&cursor=${cursor}`}`);
    // The query took too long on a busy machine: retry, as clients do.
    if (response.status === 503) continue;
    const page = (await response.json()) as { items: Item[]; next_cursor: number | null };
    yield* page.items;
    cursor = page.next_cursor;
    if (cursor === null) return;
  }
}

/** Ids of all runs. */
export async function storedRunIds(url: string): Promise<Set<number>> {
  const ids = new Set<number>();
  for await (const run of pages(url, "/api/runs?limit=500")) ids.add(run.id);
  return ids;
}

const ENDS = new Set(["run.completed", "run.failed", "run.cancelled", "run.crashed", "run.skipped"]);

/** Number of ends of each run, by its events. */
export async function endsByRun(url: string): Promise<Map<number, number>> {
  const ends = new Map<number, number>();
  for await (const event of pages(url, "/api/events?name=run.*&limit=1000")) {
    if (ENDS.has(event.name)) ends.set(event.run_id, (ends.get(event.run_id) ?? 0) + 1);
  }
  return ends;
}

const UNFINISHED = ["Scheduled", "Pending", "Running", "Cancelling", "Paused"];
const LOOK_AGAIN_MS = 50;

/** Waits until the server has no unfinished run; false at the time limit. */
export async function drained(url: string, limitMs: number): Promise<boolean> {
  const untilMs = performance.now() + limitMs;
  while (performance.now() < untilMs) {
    const counts = (await (await fetch(`${url}/api/counts`)).json()) as { runs: Record<string, number> };
    if (UNFINISHED.every((type) => counts.runs[type] === 0)) return true;
    await sleep(LOOK_AGAIN_MS);
  }
  return false;
}

/** Names of the resources in use. */
export async function resourcesInUse(url: string): Promise<string[]> {
  const settings = (await (await fetch(`${url}/api/settings`)).json()) as { resources: Record<string, { used: number }> };
  return Object.entries(settings.resources).flatMap(([name, { used }]) => (used === 0 ? [] : [name]));
}

/** SQLite's own check of the file: "ok" without errors. */
export function integrityOf(home: string): string {
  const database = openReadHandle(join(home, "db.sqlite"));
  try {
    return JSON.stringify(database.pragma("integrity_check"));
  } finally {
    database.close();
  }
}
