/** A run that waits for a person: the test acts as the engine, takes the run and pauses it. */
import { randomUUID } from "node:crypto";
import type { Run } from "#sdk/client/index";
import type { Served } from "./served.ts";

const MODULE = "people.py";
const SOURCE = "/played";
const SCHEMA = { type: "object", properties: { month: { type: "string" } } };

async function post<T>(server: Served, path: string, body: object): Promise<T> {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** Creates a run of `billing / issue_invoices_monthly` that asks `question`. */
export async function pausedRun(server: Served, question: string): Promise<Run> {
  const flow = {
    project: "billing",
    flow: "issue_invoices_monthly",
    module: MODULE,
    source_dir: SOURCE,
    parameter_schema: SCHEMA,
  };
  const run = await post<Run>(server, "/api/runs", { ...flow, parameters: { month: "2026-10" }, tags: ["finance"] });
  const engine = { engine_id: randomUUID(), pid: process.pid, source_dir: SOURCE, module: MODULE, wait_ms: 10_000 };
  const work = await post<{ run: { run_id: number; lease: number } | null }>(server, "/api/engine/work", engine);
  if (work.run?.run_id !== run.id) throw new Error("the played engine was handed another run");
  const move = (type: string, message: string | null = null) =>
    post(server, `/api/runs/${run.id}/transition`, { type, message, lease: work.run?.lease });
  await move("Pending");
  await move("Running");
  await move("Paused", question);
  return run;
}
