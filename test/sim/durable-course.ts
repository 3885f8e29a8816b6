/**
 * A run of a durable flow in the hands of a model engine: reads what is stored, asks for the steps and waits of its program
 * that are missing, and parks while it waits.
 */
import type { Wait } from "#protocol/records/durable";
import type { WorkItem } from "#protocol/records/engine";
import { type Named, programOf, type Stage, type WaitPlan } from "./durable-program.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";

/** Reads of the store as the gateway answers them; null for a run that is not there. */
export type ReadPage = (kind: "run_steps" | "run_waits", run: number, after: number) => string | null;

/** What the checkers learn from engines of durable runs. */
export interface DurableWatch {
  /** An attempt begins with these results of steps, by identity. */
  replayed(item: WorkItem, found: ReadonlyMap<string, string>): void;
  /** The engine was told that this result is stored. */
  acknowledged(item: WorkItem, identity: string, value: string): void;
}

export interface CoursePorts {
  time: SimulatedTime;
  random: Random;
  /** Varies the programs from simulation to simulation. */
  salt: number;
  readPage: ReadPage;
  durable: DurableWatch;
  /** How a child is registered with its wait, by the name of its flow. */
  registrationOf(flow: string): Record<string, unknown>;
}

/** What the engine is to do next for the run. */
export type Next =
  | { kind: "read" }
  | { kind: "steps"; steps: Named[] }
  | { kind: "arm"; waits: WaitPlan[] }
  | { kind: "wait"; open: WaitPlan[]; hold: boolean }
  | { kind: "end" };

type Known = Pick<Wait, "settled_at" | "outcome">;

export class DurableCourse {
  readonly item: WorkItem;
  /** What the engine sends with a park and gets back afterwards. */
  readonly attempt: number;
  readonly #ports: CoursePorts;
  readonly #program: Stage[];
  readonly #steps = new Map<string, string>();
  readonly #waits = new Map<string, Known>();
  #isRead = false;

  constructor(item: WorkItem, ports: CoursePorts) {
    this.item = item;
    this.attempt = item.progress?.attempt ?? 1;
    this.#ports = ports;
    this.#program = programOf(ports.salt, item.flow, Number(item.parameters["x"] ?? 1));
  }

  next(): Next {
    if (!this.#isRead) return { kind: "read" };
    for (const stage of this.#program) {
      if (stage.kind === "steps") {
        const steps = stage.steps.filter(({ identity }) => !this.#steps.has(identity));
        if (steps.length > 0) return { kind: "steps", steps };
        continue;
      }
      const waiting = this.#waiting(stage);
      if (waiting !== null) return waiting;
    }
    return { kind: "end" };
  }

  #waiting({ waits, all, hold }: Extract<Stage, { kind: "waits" }>): Next | null {
    const fresh = waits.filter(({ identity }) => !this.#waits.has(identity));
    if (fresh.length > 0) return { kind: "arm", waits: fresh };
    const open = waits.filter(({ identity }) => this.#waits.get(identity)?.settled_at == null);
    const isOver = all ? open.length === 0 : open.length < waits.length;
    return isOver ? null : { kind: "wait", open, hold };
  }

  /** Reads what an attempt begins with; false when the run is not there any more. */
  read(): boolean {
    const { item } = this;
    if ((item.durable?.steps ?? 0) > 0 && !this.#readSteps()) return false;
    if ((item.durable?.waits ?? 0) > 0 && !this.look()) return false;
    this.#isRead = true;
    this.#ports.durable.replayed(item, this.#steps);
    return true;
  }

  /** Reads the waits again; false when the run is not there any more. */
  look(): boolean {
    return this.#eachRow("run_waits", (row) => this.note(row as Wait));
  }

  /** A wait that ended with its lineage is armed again. */
  note({ identity, settled_at, outcome }: Wait): void {
    if (settled_at != null && outcome == null) this.#waits.delete(identity);
    else this.#waits.set(identity, { settled_at, outcome });
  }

  #readSteps(): boolean {
    return this.#eachRow("run_steps", (row) => {
      const { identity, value } = row as { identity: string; value: string };
      this.#steps.set(identity, value);
    });
  }

  #eachRow(kind: "run_steps" | "run_waits", take: (row: unknown) => void): boolean {
    for (let after: number | null = 0; after !== null; ) {
      const text = this.#ports.readPage(kind, this.item.run_id, after);
      if (text === null) return false;
      const { items, next_cursor } = JSON.parse(text) as { items: unknown[]; next_cursor?: number | null };
      for (const row of items) take(row);
      after = next_cursor ?? null;
    }
    return true;
  }

  /** The events of a report that brings results: the task run of each step, and its result, which names the lease. */
  stepEvents(steps: readonly Named[], seq: () => number): { events: unknown[]; values: Map<string, string> } {
    const { time, random } = this.#ports;
    const values = new Map<string, string>();
    const events = steps.flatMap(({ identity, place, name }) => {
      const external_id = random.uuid(time.nowUs());
      const value = JSON.stringify({ lease: this.item.lease, mark: external_id });
      values.set(identity, value);
      const state = { type: "Completed", name: "Completed", timestamp: time.nowUs(), message: null, details: {} };
      const key = `${name}-${identity.slice(0, 4)}`;
      return [
        { kind: "task_run_created", seq: seq(), external_id, name, task_key: name, dynamic_key: key },
        { kind: "task_run_transition", seq: seq(), external_id, state },
        { kind: "step", seq: seq(), identity, place, name, task_run_external_id: external_id, value },
      ];
    });
    return { events, values };
  }

  /** The server has said that these results are stored. */
  acknowledge(values: ReadonlyMap<string, string>): void {
    for (const [identity, value] of values) {
      this.#steps.set(identity, value);
      this.#ports.durable.acknowledged(this.item, identity, value);
    }
  }

  /** The body of the request that arms waits. */
  armBody(waits: readonly WaitPlan[]): string {
    return JSON.stringify({ lease: this.item.lease, waits: waits.map((wait) => this.#sent(wait)) });
  }

  #sent(wait: WaitPlan): Record<string, unknown> {
    const { time } = this.#ports;
    const { identity, place, name, kind } = wait;
    const common = { identity, place, name, kind };
    switch (wait.kind) {
      case "sleep":
        return { ...common, ...(wait.byTime ? { until: time.nowUs() + Math.round(wait.delay * 1e6) } : { delay: wait.delay }) };
      case "event":
        return { ...common, event: wait.event, where: wait.where, ...timeoutOf(wait) };
      case "input":
        return {
          ...common,
          question: { prompt: "go on?", schema: null, asked_at: time.nowUs(), task_run: null },
          ...timeoutOf(wait),
        };
      case "child": {
        const { flow, x, delay, on_parent_end, registers } = wait;
        const end = on_parent_end === null ? {} : { on_parent_end };
        const registration = registers ? { registration: this.#ports.registrationOf(flow) } : {};
        return { ...common, flow, parameters: { x }, ...(delay > 0 && { delay }), ...end, ...registration };
      }
    }
  }

  /** The park of a run that waits. */
  park(open: readonly WaitPlan[], hold: boolean, seq: number): unknown {
    const { random, time } = this.#ports;
    const progress = random.chance(0.5) ? { progress: { attempt: this.attempt, times: [], ran_us: 0 } } : {};
    const waits = open.map(({ identity }) => identity);
    return { kind: "park", seq, timestamp: time.nowUs(), waits, ...(hold && { hold }), ...progress };
  }
}

function timeoutOf({ timeout }: { timeout: number | null }): { timeout?: number } {
  return timeout === null ? {} : { timeout };
}

/** The park of a run for the delay before its next attempt, durable or not. */
export function retryPark(attempt: number, timestamp: number, delay: number, seq: number): unknown {
  const progress = { attempt: attempt + 1, times: [], ran_us: 0 };
  return { kind: "park", seq, timestamp, waits: [], progress, retry: { delay, attempt, message: "failed" } };
}
