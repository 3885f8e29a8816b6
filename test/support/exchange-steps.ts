/** Steps of engines that exchange: reports and work of several runs by one request. */
import type { DispatchKit, Outcome } from "./dispatch-kit.ts";
import { MODULE, SOURCE_DIR } from "./dispatch-steps.ts";

export interface Held {
  run_id: number;
  lease: number;
}

interface Given extends Held {
  flow: string;
}

/** POST /api/engine/exchange; an engine offers eight slots by default. */
export function exchange(kit: DispatchKit, engine: string, number: number, wish: Record<string, unknown> = {}): Outcome {
  const identity = { engine_id: engine, pid: 1000, source_dir: SOURCE_DIR, module: MODULE };
  return kit.send("Exchange", { body: { ...identity, exchange: number, slots: 8, held: [], reports: [], ...wish } });
}

export function answerOf(outcome: Outcome, command = outcome.command) {
  const reply = outcome.replies.find((each) => each.command === command);
  return reply?.body as
    | { exchange: number; exit: boolean; runs: Given[]; reports: Record<string, unknown>[]; stop: Record<string, unknown>[] }
    | undefined;
}

export function givenTo(outcome: Outcome, command = outcome.command): number[] {
  return (answerOf(outcome, command)?.runs ?? []).map(({ run_id }) => run_id);
}

export function heldOf(outcome: Outcome): Held[] {
  return (answerOf(outcome)?.runs ?? []).map(({ run_id, lease }) => ({ run_id, lease }));
}

export const moved = (kit: DispatchKit, seq: number, ...types: string[]) =>
  types.map((type, at) => ({
    kind: "run_transition",
    seq: seq + at,
    state: { type, name: type, timestamp: kit.nowUs, message: null, details: {} },
  }));

/** Begins every run that an answer gave. */
export function begin(kit: DispatchKit, engine: string, number: number, held: readonly Held[]): Outcome {
  const reports = held.map((each) => ({ ...each, events: moved(kit, 1, "Pending", "Running") }));
  return exchange(kit, engine, number, { held, reports, slots: 0 });
}
