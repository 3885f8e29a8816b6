/** An engine written by hand for a server process: takes durable runs, reports, arms waits, parks. */
import type { Test } from "tap";
import { identityOf } from "./durable-steps.ts";
import { ServedHome, type ServedProcess, until } from "./served-home.ts";

export const FLOW = { project: "shop", module: "jobs.py", source_dir: "/jobs" };
const ENGINE = { engine_id: "e1", pid: process.pid, source_dir: FLOW.source_dir, module: FLOW.module };

export interface Item {
  run_id: number;
  lease: number;
  durable?: { lineage_id: number; steps: number; waits: number };
}

export async function takeItem(server: ServedProcess): Promise<Item> {
  return await until(async () => {
    const { body } = await server.call("POST", "/api/engine/work", {
      ...ENGINE,
      wait_ms: 1_000,
      owns_stop: true,
    });
    return body["run"] as Item | null;
  });
}

export async function reportOf(server: ServedProcess, { run_id, lease }: Item, events: unknown[]) {
  const { body } = await server.call("POST", "/api/engine/report", { engine_id: "e1", run_id, lease, events });
  return body;
}

export const moveEvent = (seq: number, type: string, details = {}) => ({
  kind: "run_transition",
  seq,
  state: { type, timestamp: Date.now() * 1_000, details },
});

export async function beginItem(server: ServedProcess): Promise<Item> {
  const item = await takeItem(server);
  await reportOf(server, item, [moveEvent(1, "Pending"), moveEvent(2, "Running")]);
  return item;
}

export const stepEvent = (seq: number, number: number, value: string) => {
  return { kind: "step", seq, identity: identityOf(number), place: identityOf(0), name: "double", value };
};
export const parkEvent = (seq: number, wait: number) => ({
  kind: "park",
  seq,
  timestamp: Date.now() * 1_000,
  waits: [identityOf(wait)],
});

export async function armFor(server: ServedProcess, { run_id, lease }: Item, wait: number, fields: Record<string, unknown>) {
  const waits = [{ identity: identityOf(wait), place: identityOf(0), name: "w", ...fields }];
  return await server.call("POST", `/api/runs/${run_id}/waits`, { lease, waits });
}

export async function serveHome(t: Test, ...options: string[]): Promise<{ home: ServedHome; server: ServedProcess }> {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  return { home, server: await home.serve(...options) };
}
