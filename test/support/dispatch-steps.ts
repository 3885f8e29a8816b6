/** Steps common to most dispatch tests: create a run, poll for work, move, report. */
import type { WorkRequest } from "#protocol/records/engine";
import type { DispatchKit, Outcome } from "./dispatch-kit.ts";

/**
 * A flow as a client names it. Two fields of its registration are always sent, so that the flow is known from its first run
 * on.
 */
export interface FlowWish {
  flow?: string;
  project?: string;
  module?: string;
  options?: Record<string, unknown>;
  parameter_schema?: Record<string, unknown>;
  flow_tags?: string[];
}

export const SOURCE_DIR = "/flows";
export const MODULE = "jobs.py";

/** POST /api/runs. */
export function create(kit: DispatchKit, wish: FlowWish & Record<string, unknown> = {}): Outcome {
  const body = { project: "shop", flow: "job", module: MODULE, source_dir: SOURCE_DIR, ...wish };
  return kit.send("CreateRun", { body });
}

/** Creates a run and returns its id; fails if the creation was refused. */
export function createId(kit: DispatchKit, wish: FlowWish & Record<string, unknown> = {}): number {
  const { reply } = create(kit, wish);
  if (reply?.status !== 201) throw new Error(`not created: ${JSON.stringify(reply)}`);
  return Number(reply.body["id"]);
}

/** POST /api/engine/work; waits by default. */
export function poll(kit: DispatchKit, engine: string, wish: Partial<WorkRequest> = {}, local = true): Outcome {
  const body = { engine_id: engine, pid: 1000, source_dir: SOURCE_DIR, module: MODULE, wait_ms: 30_000, ...wish };
  return kit.send("Work", { body, local });
}

/** The work item of an answer; null without work. */
export function workOf(outcome: Outcome, command = outcome.command): Record<string, unknown> | null {
  const answer = outcome.replies.find((reply) => reply.command === command);
  return (answer?.body["run"] ?? null) as Record<string, unknown> | null;
}

/** POST /api/runs/{id}/transition. */
export function move(kit: DispatchKit, run: number, type: string, more: Record<string, unknown> = {}): Outcome {
  return kit.send("TransitionRun", {
    target: run,
    body: { type, name: null, message: null, details: {}, force: false, ...more },
  });
}

/** A run that an engine holds and has started. */
export function startRun(kit: DispatchKit, engine = "e1", wish: FlowWish & Record<string, unknown> = {}, poller = {}): number {
  const id = createId(kit, wish);
  const item = workOf(poll(kit, engine, { module: wish.module ?? MODULE, ...poller }));
  if (item?.["run_id"] !== id) throw new Error(`${engine} was given ${JSON.stringify(item)}, not run ${id}`);
  move(kit, id, "Pending");
  move(kit, id, "Running");
  return id;
}

/** POST /api/engine/report. */
export function report(
  kit: DispatchKit,
  run: number,
  events: unknown[],
  more: { engine_id?: string; lease?: number } = {},
): Outcome {
  return kit.send("Report", { body: { engine_id: "e1", run_id: run, events, ...more } });
}

/**
 * Reports task runs of a run, each moved into the given state; null for a task run that was only created. Returns their
 * external ids.
 */
export function reportTasks(kit: DispatchKit, run: number, states: readonly (string | null)[]): string[] {
  const ids = states.map((_, index) => `11111111-1111-7111-8111-${String(index).padStart(12, "0")}`);
  const events = ids.flatMap((external_id, index) => {
    const type = states[index];
    const created = { kind: "task_run_created", external_id, name: "t", task_key: "t", dynamic_key: `t-${index}` };
    const state = { type, name: type, timestamp: kit.nowUs };
    const moved = { kind: "task_run_transition", external_id, state, force: true };
    return type === null ? [created] : [created, moved];
  });
  report(
    kit,
    run,
    events.map((event, index) => ({ ...event, seq: index + 1 })),
  );
  return ids;
}
