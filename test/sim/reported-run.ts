/** A run in the hands of a model engine: what the engine reports of it, numbered, with texts that are unique in the simulation. */
import type { WorkItem } from "#protocol/records/engine";
import type { State, StateType } from "#protocol/records/state";
import type { EnginePorts, EngineTraits } from "./engine-process.ts";

const TASK_NAMES = ["add", "load", "constructor"];
/** Names that user code could choose and that must be treated as plain text. */
export const FREE_NAMES = ["Waking", "constructor", "toString"];

export type Move = { type: StateType; name?: string; message?: string; details?: Record<string, unknown> };

export type Ports = Pick<EnginePorts, "random" | "time" | "proposed" | "calm">;

export class ReportedRun {
  readonly item: WorkItem;
  /** Number of the newest event. */
  seq = 0;
  /** Steps until the run ends. */
  steps: number;
  readonly #tasks: { external_id: string; moved: boolean }[] = [];
  readonly #sender: string;
  readonly #ports: Ports;
  #marks = 0;

  /** `number` is the number of the run within its engine. */
  constructor(item: WorkItem, { id, pid }: EngineTraits, number: number, ports: Ports) {
    this.item = item;
    this.#sender = `${id}/${pid}|${item.run_id}|${number}`;
    this.#ports = ports;
    this.steps = ports.calm() ? 0 : ports.random.between(0, 5);
  }

  /** One to four events about the run. */
  events(): unknown[] {
    const { random } = this.#ports;
    const events: unknown[] = [];
    for (let count = random.between(1, 4); count > 0; count -= 1) {
      this.seq += random.chance(0.1) ? 2 : 1;
      const what = random.weighted({ task: 2, move: 5, logs: 4, custom: 1, artifact: 1 });
      if (what === "logs") events.push({ kind: "logs", seq: this.seq, logs: this.logLines() });
      else if (what === "custom") events.push({ kind: "custom", seq: this.seq, name: "step", payload: { mark: this.#mark() } });
      else if (what === "artifact") events.push(this.#artifact());
      else events.push(this.#taskEvent(what));
    }
    return events;
  }

  /** Moves of the run as events; the server decides about them in this order. */
  moves(states: readonly Move[], timestamp: number): unknown[] {
    return states.map((state) => {
      this.seq += 1;
      return { kind: "run_transition", seq: this.seq, state: { ...state, timestamp } };
    });
  }

  logLines(): unknown[] {
    const { random, time } = this.#ports;
    return Array.from({ length: random.between(1, 3) }, () => {
      const message = this.#mark();
      return {
        run_id: this.item.run_id,
        level: random.pick([10, 20, 30, 40]),
        logger: "millrace.run",
        timestamp: time.nowUs(),
        message,
      };
    });
  }

  #taskEvent(what: "task" | "move"): unknown {
    const { random, time, proposed } = this.#ports;
    const task = what === "move" && this.#tasks.length > 0 ? random.pick(this.#tasks) : undefined;
    if (task === undefined) {
      const external_id = random.uuid(time.nowUs());
      this.#tasks.push({ external_id, moved: false });
      const key = random.pick(TASK_NAMES);
      return { kind: "task_run_created", seq: this.seq, external_id, name: key, task_key: key, dynamic_key: `${key}-0` };
    }
    const type = random.weighted<StateType>({
      Scheduled: 1,
      Pending: 6,
      Running: 10,
      Completed: 5,
      Failed: 2,
      Cancelled: 1,
      Crashed: 0.5,
      Paused: 1,
      Cancelling: 0.3,
    });
    if (!task.moved) proposed("none", type);
    task.moved = true;
    const name = random.chance(0.1) ? random.pick([...FREE_NAMES, "Cached", "Skipped", "TimedOut"]) : type;
    const state: State = { type, name, message: null, details: {}, timestamp: time.nowUs() };
    return { kind: "task_run_transition", seq: this.seq, external_id: task.external_id, state, force: random.chance(0.02) };
  }

  #artifact(): unknown {
    const { random, time } = this.#ports;
    return {
      kind: "artifact",
      seq: this.seq,
      external_id: random.uuid(time.nowUs()),
      artifact_kind: "markdown",
      key: "notes",
      data: { text: this.#mark() },
    };
  }

  /** A text that is unique in the simulation and identifies sender and order. */
  #mark(): string {
    this.#marks += 1;
    return `${this.#sender}|${this.#marks}`;
  }
}
