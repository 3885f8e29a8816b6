/** Steps of engines that execute durable runs: begin a run, store steps, arm waits, park. */
import type { DispatchKit, Outcome } from "./dispatch-kit.ts";
import { createId, type FlowWish, poll, report, workOf } from "./dispatch-steps.ts";

export const identityOf = (number: number): string => number.toString(16).padStart(32, "0");

/** A durable run that an engine executes, and its lease. */
export interface HeldRun {
  id: number;
  lease: number;
  engine: string;
  item: Record<string, unknown>;
}

/** Takes the next run for an engine that ends runs itself, and starts it. */
export function takeRun(kit: DispatchKit, engine = "e1", wish = {}): HeldRun {
  const item = workOf(poll(kit, engine, { owns_stop: true, ...wish }));
  if (item === null) throw new Error("no work");
  const held = { id: Number(item["run_id"]), lease: Number(item["lease"]), engine, item };
  send(kit, held, [moveOf(kit, 1, "Pending"), moveOf(kit, 2, "Running")]);
  return held;
}

export function startDurable(kit: DispatchKit, wish: FlowWish & Record<string, unknown> = {}, engine = "e1"): HeldRun {
  createId(kit, { ...wish, options: { durable: true, ...wish.options } });
  return takeRun(kit, engine);
}

export function moveOf(kit: DispatchKit, seq: number, type: string, more: Record<string, unknown> = {}) {
  return { kind: "run_transition", seq, state: { type, timestamp: kit.nowUs, details: {}, ...more } };
}

export function stepOf(seq: number, number: number, value = "1") {
  return { kind: "step", seq, identity: identityOf(number), place: identityOf(0), name: `step-${number}`, value };
}

export function parkOf(kit: DispatchKit, seq: number, waits: readonly number[], more: Record<string, unknown> = {}) {
  return { kind: "park", seq, timestamp: kit.nowUs, waits: waits.map(identityOf), ...more };
}

export function send(kit: DispatchKit, { id, lease, engine }: HeldRun, events: unknown[]): Outcome {
  return report(kit, id, events, { engine_id: engine, lease });
}

/** POST /api/runs/{id}/waits; the number of a wait becomes its identity. */
export function arm(
  kit: DispatchKit,
  { id, lease }: HeldRun,
  waits: readonly ({ wait: number } & Record<string, unknown>)[],
): Outcome {
  const body = {
    lease,
    waits: waits.map(({ wait, ...fields }) => ({
      identity: identityOf(wait),
      place: identityOf(0),
      name: `wait-${wait}`,
      ...fields,
    })),
  };
  return kit.send("ArmWaits", { target: id, body });
}
