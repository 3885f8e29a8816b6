/**
 * A model of the server's users, people and programs: they create runs of flows with varied options, cancel, delete, resume,
 * force moves, hold leases and change totals of resources.
 */
import { STATE_TYPES, type StateType } from "#protocol/records/state";
import type { CommandKind } from "#protocol/wire/command";
import { AWAITED_EVENT } from "./durable-program.ts";
import type { Outcome, Pending, Request } from "./model-gateway.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";

const PROJECT = "sim";
const SOURCE_DIR = "/flows";
/** Declared totals; other resources have one. */
export const TOTALS: Readonly<Record<string, number>> = { gpu: 2, db: 3 };

/** Flows by name: module and options. The mix of options makes runs wait, overtake and start each other. */
const FLOWS: Readonly<Record<string, { module: string; options: Record<string, unknown> }>> = {
  plain: { module: "a.ts", options: { priority: 1 } },
  capped: { module: "a.ts", options: { max_concurrent: 1, crash_retries: 1 } },
  skipping: { module: "a.ts", options: { max_concurrent: 1, on_overlap: "skip" } },
  replacing: { module: "a.ts", options: { max_concurrent: 2, on_overlap: "cancel_new", priority: 2 } },
  heavy: { module: "a.ts", options: { resources: { gpu: 1, db: 1 }, crash_retries: 2 } },
  heavier: { module: "b.ts", options: { resources: { gpu: 2 }, priority: 5, has_crash_hooks: true, crash_retries: 1 } },
  lone: { module: "b.ts", options: { resources: { lock: 1 }, timeout_seconds: 3 } },
  alone: { module: "b.ts", options: { isolated: true, crash_retries: 1 } },
  shared: { module: "a.ts", options: { crash_retries: 2 } },
  sole: { module: "a.ts", options: { exclusive: true, crash_retries: 1 } },
  once: { module: "a.ts", options: { crash_retries: 0 } },
  meek: { module: "b.ts", options: { priority: -3 } },
  gathering: { module: "a.ts", options: { after: { flow: "plain", flows: ["plain", "meek"], key: "x" } } },
  checked: { module: "b.ts", options: { has_bulk_complete: true } },
  following: { module: "a.ts", options: { after: { flow: "plain", parameters: { x: "{{ run.id }}" } }, max_concurrent: 3 } },
};
/** Flows whose runs store steps, wait without an engine and call children; not in every simulation. */
const DURABLE_FLOWS: typeof FLOWS = {
  sleeper: { module: "a.ts", options: { durable: true, crash_retries: 2, priority: 6 } },
  caller: { module: "a.ts", options: { durable: true, crash_retries: 1, priority: 6 } },
  holder: { module: "b.ts", options: { durable: true, resources: { gpu: 1 }, crash_retries: 3 } },
  hasty: { module: "a.ts", options: { durable: true, timeout_seconds: 4, max_concurrent: 2 } },
  single: { module: "b.ts", options: { durable: true, max_concurrent: 1, on_overlap: "cancel_new" } },
};
const SCHEMA = {
  type: "object",
  properties: { x: { type: "integer", default: 1 }, text: { type: "string" }, day: { type: "string", format: "date" } },
};
/** Fields common to all registrations. */
export const FLOW_REGISTRATION = { project: PROJECT, source_dir: SOURCE_DIR, parameter_schema: SCHEMA, flow_tags: ["t1"] };

/** How a child is registered with its wait. */
export function registrationOf(flow: string): Record<string, unknown> {
  const { module = "", options = {} } = FLOWS[flow] ?? DURABLE_FLOWS[flow] ?? {};
  return { module, source_dir: SOURCE_DIR, parameter_schema: SCHEMA, options };
}

/** Keys of engines that execute some flow. */
export const ENGINE_KEYS = [
  { source_dir: SOURCE_DIR, module: "a.ts", isolated: false, nice: 0 },
  { source_dir: SOURCE_DIR, module: "b.ts", isolated: false, nice: 0 },
  { source_dir: SOURCE_DIR, module: "b.ts", isolated: true, nice: 0 },
  { source_dir: SOURCE_DIR, module: "b.ts", isolated: false, nice: 3 },
];

/** Parameters too large for the core's memory. */
const LARGE_TEXT = "x".repeat(5000);

/** The trace of a creator, with which some runs are created. */
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** A parked run that wakes later than this is woken by hand once the faults have stopped. */
const FAR_US = 60_000_000;

type Action =
  | "create"
  | "createForFlow"
  | "createMany"
  | "cancel"
  | "delete"
  | "resume"
  | "move"
  | "force"
  | "acquire"
  | "release"
  | "patch"
  | "event"
  | "artifact"
  | "server"
  | "settings"
  | "fail"
  | "deleteFlow"
  | "broken"
  | "wake"
  | "retry"
  | "endParked"
  | "revive";

const WEIGHTS: Record<Action, number> = {
  create: 30,
  createForFlow: 6,
  createMany: 2,
  cancel: 5,
  delete: 4,
  resume: 8,
  move: 8,
  force: 8,
  acquire: 10,
  release: 8,
  patch: 2,
  event: 2,
  artifact: 2,
  server: 1,
  settings: 1,
  fail: 0.5,
  deleteFlow: 0.3,
  broken: 1,
  wake: 5,
  retry: 6,
  endParked: 5,
  revive: 2,
};

export interface PeoplePorts {
  time: SimulatedTime;
  random: Random;
  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null;
  /** Ids of runs and flows, including deleted ones. */
  newestRun(): number;
  newestFlow(): number;
  /** Runs that are currently paused. */
  paused(): number[];
  ofType(type: StateType): number[];
  /** Runs in progress on an engine. */
  running(): number[];
  /** Runs that wait without an engine, with the time at which they wake by themselves. */
  parked(): { run: number; wakeAt: number | null }[];
  /** Ended runs of durable flows. */
  endedDurable(): number[];
  /** Children that are not due, with the time of their creation. */
  children(): { run: number; createdAt: number }[];
  /** Crashed children that are not run again yet, and whose callers wait for them. */
  crashedChildren(): number[];
  /** Dynamic keys of the task runs of a run. */
  taskKeys(run: number): string[];
  calm(): boolean;
  /** Whether there are runs of durable flows. */
  durable: boolean;
}

export class ModelPeople {
  readonly #ports: PeoplePorts;
  readonly #meanPauseUs: number;
  /** Runs that were moved or have leases: if no engine holds such a run, only its user ends it. */
  readonly #meddled = new Set<number>();
  /** Creations sent with a key, by the key's number. */
  readonly #keyed: { kind: CommandKind; body: string }[] = [];
  readonly #leases: { run_id: number; lease: number }[] = [];
  readonly #flows: typeof FLOWS;

  constructor(ports: PeoplePorts) {
    this.#ports = ports;
    this.#meanPauseUs = ports.random.pick([20_000, 60_000, 150_000]);
    this.#flows = ports.durable ? { ...FLOWS, ...DURABLE_FLOWS } : FLOWS;
  }

  begin(): void {
    const { time, random } = this.#ports;
    const act = (): void => {
      if (this.#ports.calm()) return this.#tidyUp();
      this.act();
      time.after(random.delayUs(this.#meanPauseUs), act);
    };
    time.after(0, act);
  }

  /** After the faults: restores the declared totals and answers all pauses. */
  #tidyUp(): void {
    this.#insist("PatchSettings", 0, { resources: { ...TOTALS, lock: 1 } });
    const resume = (): void => {
      for (const run of this.#ports.paused()) this.#ask("ResumeRun", run, { input: null });
      for (const run of this.#meddled) this.#ask("CancelRun", run, null);
      this.#wakeAll();
      this.#ports.time.after(1_000_000, resume);
    };
    resume();
  }

  /** What parked runs wait for happens: events, and the end of sleeps and children that a step of the clock has moved far away. */
  #wakeAll(): void {
    const parked = this.#ports.parked();
    for (const { run, wakeAt } of parked)
      if (wakeAt !== null && wakeAt > this.#ports.time.nowUs() + FAR_US) this.#ask("WakeRun", run, null);
    for (const { run, createdAt } of this.#ports.children())
      if (createdAt > this.#ports.time.nowUs() + FAR_US) this.#ask("CancelRun", run, null);
    if (parked.length > 0)
      for (const n of [1, 2]) this.#ask("EmitEvent", 0, { name: AWAITED_EVENT, run_id: null, payload: { n } });
  }

  /** Many runs at once, which an engine with slots may hold together. */
  throng(count: number): void {
    for (let left = count; left > 0; left -= 1) this.#createOf("shared");
  }

  act(): void {
    const { random } = this.#ports;
    const action = random.weighted(WEIGHTS);
    const run = this.#someRun();
    const crashed = this.#ports.crashedChildren();
    if (crashed.length > 0 && random.chance(0.5)) return this.#ask("DeleteRun", random.pick(crashed), null);
    switch (action) {
      case "create":
        return this.#create();
      case "createForFlow":
        return this.#ask(
          "CreateFlowRun",
          random.between(1, this.#ports.newestFlow() + 1),
          this.#text({ parameters: this.#parameters() }),
        );
      case "cancel":
        return this.#ask("CancelRun", run, null);
      case "delete":
        return this.#ask("DeleteRun", run, null);
      case "resume":
        return this.#resume(run);
      case "move":
      case "force":
        return this.#move(run, action === "force");
      case "acquire":
        return this.#acquire(run);
      case "release":
        return this.#release();
      case "patch":
        return this.#patch();
      default:
        return this.#other(action, run);
    }
  }

  #other(
    action: Exclude<
      Action,
      "create" | "createForFlow" | "cancel" | "delete" | "resume" | "move" | "force" | "acquire" | "release" | "patch"
    >,
    run: number,
  ): void {
    const { random } = this.#ports;
    const key = random.pick(ENGINE_KEYS);
    switch (action) {
      case "createMany":
        return this.#createMany();
      case "event":
        return this.#ask("EmitEvent", 0, {
          name: AWAITED_EVENT,
          run_id: random.chance(0.5) ? run : null,
          payload: { n: random.between(1, 2) },
        });
      case "artifact":
        return this.#ask("CreateArtifact", 0, { run_id: run, kind: "table", key: null, data: { rows: [[1, 2]] } });
      case "server":
        return this.#ask("GetServer", 0, null);
      case "settings":
        return this.#ask("GetSettings", 0, null);
      case "fail":
        return this.#ask("EngineFailed", 0, { engine_id: "e", ...key, traceback: "Trace\nImportError: no" });
      case "deleteFlow":
        return this.#ask("DeleteFlow", random.between(1, this.#ports.newestFlow() + 1), null);
      case "broken":
        return this.#ask("TransitionRun", run, '{"type":"Nowhere"}');
      case "wake":
        return this.#wake(run);
      case "retry":
        return this.#retry(run);
      case "endParked":
        return this.#endParked();
      case "revive":
        return this.#revive();
    }
  }

  #create(): void {
    const { random } = this.#ports;
    if (this.#ports.durable && random.chance(0.3)) return this.#createOf(random.pick(Object.keys(DURABLE_FLOWS)));
    this.#createOf(random.chance(0.3) ? "shared" : random.pick(Object.keys(this.#flows)));
  }

  #createOf(flow: string): void {
    this.#createByText("CreateRun", this.#newRun(flow));
  }

  /** A batch: prepared in slices if it is long, and refused as a whole or in part if a run of it is wrong. */
  #createMany(): void {
    const { random } = this.#ports;
    const flows = Array.from({ length: random.between(1, 10) }, () => random.pick(Object.keys(this.#flows)));
    const runs = flows.map((flow) => (random.chance(0.03) ? { flow, flow_id: 1 } : this.#newRun(flow)));
    this.#createByText("CreateRuns", { defaults: { parameters: { x: 3 } }, runs, partial: random.chance(0.5) });
  }

  #newRun(flow: string): Record<string, unknown> {
    const { module = "", options = {} } = this.#flows[flow] ?? {};
    return { ...FLOW_REGISTRATION, flow, module, options, parameters: this.#parameters(), tags: ["t2"] };
  }

  #createByText(kind: CommandKind, body: unknown): void {
    const { random } = this.#ports;
    if (random.chance(0.2)) return this.#createOnce(kind, this.#text(body));
    const trace = random.chance(0.2) ? { traceparent: TRACEPARENT } : {};
    this.#ports.submit({ kind, target: 0, body: this.#text(body), waitUs: null, local: true, ...trace }, () => undefined);
  }

  /** A creation with a key that may be sent again, even after an answer. */
  #createOnce(kind: CommandKind, body: string): void {
    this.#keyed.push({ kind, body });
    const index = this.#ports.random.chance(0.5) ? this.#keyed.length - 1 : this.#ports.random.below(this.#keyed.length);
    const idempotency = { key: `key-${index}`, fingerprint: String(index) };
    const sent = this.#keyed[index] ?? { kind, body };
    this.#ports.submit({ ...sent, target: 0, waitUs: null, local: true, idempotency }, () => undefined);
  }

  #parameters(): Record<string, unknown> {
    const { random } = this.#ports;
    return random.chance(0.05) ? { text: LARGE_TEXT } : { x: random.below(10) };
  }

  #text(body: unknown): string {
    return JSON.stringify(body);
  }

  #resume(someRun: number): void {
    const { random } = this.#ports;
    const paused = this.#ports.paused();
    const run = paused.length > 0 && random.chance(0.8) ? random.pick(paused) : someRun;
    this.#ask("ResumeRun", run, { input: random.pick([null, { go: true }]) });
  }

  #wake(someRun: number): void {
    const { random } = this.#ports;
    const parked = this.#ports.parked();
    this.#ask("WakeRun", parked.length > 0 && random.chance(0.9) ? random.pick(parked).run : someRun, null);
  }

  #endParked(): void {
    const { random } = this.#ports;
    const parked = this.#ports.parked();
    if (parked.length > 0) this.#ask(random.pick(["CancelRun", "CancelRun", "DeleteRun"]), random.pick(parked).run, null);
  }

  /** Moves an ended run of a durable flow back by force: its lineage goes on. */
  #revive(): void {
    const ended = this.#ports.endedDurable();
    if (ended.length === 0) return;
    const run = this.#ports.random.pick(ended);
    this.#meddled.add(run);
    this.#ask("TransitionRun", run, this.#text({ type: "Scheduled", name: null, force: true }));
  }

  #retry(someRun: number): void {
    const { random } = this.#ports;
    const ended = this.#ports.endedDurable();
    const run = ended.length > 0 && random.chance(0.8) ? random.pick(ended) : someRun;
    const from = random.pick([undefined, "start", "failure", random.pick(["none", ...this.#ports.taskKeys(run)])]);
    this.#ask("RetryRun", run, from === undefined ? null : { from });
  }

  #move(someRun: number, force: boolean): void {
    const { random } = this.#ports;
    const paused = this.#ports.paused();
    // By the state first: few runs are Pending or Cancelling at a time, and most are Scheduled or ended.
    const alike = this.#ports.ofType(random.pick<StateType>(STATE_TYPES));
    const other = alike.length > 0 && random.chance(0.8) ? random.pick(alike) : someRun;
    const run = paused.length > 0 && random.chance(0.4) ? random.pick(paused) : other;
    const type = random.pick<StateType>(STATE_TYPES);
    // An engine may still set a run Running that was taken from it by force; then no engine holds the run.
    if (force || type === "Pending" || type === "Running") this.#meddled.add(run);
    const name = random.pick([null, null, null, "Late", "Skipped", "TimedOut", "toString"]);
    this.#ask("TransitionRun", run, this.#text({ type, name, force }));
  }

  /** User code inside a run acquires a lease; sometimes for a run that no engine holds. */
  #acquire(someRun: number): void {
    const { random } = this.#ports;
    const running = this.#ports.running();
    const run = running.length > 0 && random.chance(0.9) ? random.pick(running) : someRun;
    this.#meddled.add(run);
    const name = random.pick(["gpu", "db", "lock"]);
    const wait_ms = random.pick([0, 500, 4000]);
    const body = {
      run_id: run,
      resources: random.chance(0.3) ? { [name]: 1, db: 1 } : { [name]: 0.5 + random.below(2) / 2 },
      wait_ms,
    };
    this.#ports.submit({ kind: "AcquireLease", target: 0, body, waitUs: wait_ms * 1000, local: true }, (outcome) => {
      if (outcome.kind !== "Answer" || outcome.status !== 200) return;
      const { lease } = JSON.parse(outcome.body ?? "{}") as { lease?: number };
      if (lease !== undefined) this.#leases.push({ run_id: run, lease });
    });
  }

  #release(): void {
    const held = this.#leases.splice(this.#ports.random.below(this.#leases.length || 1), 1)[0];
    if (held !== undefined) this.#ask("ReleaseLease", 0, held);
  }

  #patch(): void {
    const { random } = this.#ports;
    const name = random.pick(["gpu", "db", "lock"]);
    this.#ask("PatchSettings", 0, { resources: { [name]: random.between(0, 4) } });
  }

  /** Usually one of the newest runs, sometimes one that waits without an engine, sometimes any, sometimes an unknown one. */
  #someRun(): number {
    const { random } = this.#ports;
    const parked = this.#ports.parked();
    if (parked.length > 0 && random.chance(0.2)) return random.pick(parked).run;
    const newest = this.#ports.newestRun();
    return random.chance(0.8) ? Math.max(1, newest - random.below(12)) : random.between(1, newest + 2);
  }

  #ask(kind: CommandKind, target: number, body: unknown): void {
    this.#ports.submit({ kind, target, body, waitUs: null, local: true }, () => undefined);
  }

  /** Retries a request until it is answered successfully. */
  #insist(kind: CommandKind, target: number, body: unknown): void {
    const settled = (outcome: Outcome): void => {
      if (outcome.kind === "Answer" && outcome.status < 500) return;
      this.#ports.time.after(500_000, () => this.#insist(kind, target, body));
    };
    this.#ports.submit({ kind, target, body, waitUs: null, local: true }, settled);
  }
}
