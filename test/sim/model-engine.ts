/**
 * A model of an engine process: polls, moves its run, reports task runs and log lines, retries unanswered requests. It may
 * die, be silent, send requests twice, send leases or not, and obey a cancel or not.
 */
import type { EngineKeyFields } from "#actors/core/state/engine";
import type { ReportResponse, WorkItem } from "#protocol/records/engine";
import type { State, StateType } from "#protocol/records/state";
import type { CommandKind } from "#protocol/wire/command";
import type { Outcome, Pending, Request } from "./model-gateway.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";
import type { Trace } from "./trace.ts";

const POLL_WAIT_US = 30_000_000;
const RETRY_US = 200_000;
const HEARTBEAT_US = 5_000_000;
const THINK_US = 60_000;

export interface EngineTraits {
  id: string;
  pid: number;
  key: EngineKeyFields;
  /** Started by the server's pool. */
  spawned: boolean;
  /** Sends the lease with every request and ends its runs itself, like the bundled engine. */
  leases: boolean;
  /** On another host: judged by contact. */
  remote: boolean;
  obedient: boolean;
}

export interface EnginePorts {
  time: SimulatedTime;
  random: Random;
  trace: Trace;
  host: string;
  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null;
  leave(pending: Pending): void;
  /** True once faults have stopped: runs are to end soon. */
  calm(): boolean;
  proposed(from: StateType | "none", to: StateType): void;
  ended(engine: ModelEngine): void;
}

interface Job {
  item: WorkItem;
  /** 1, 2, 3 ... within the engine. */
  number: number;
  seq: number;
  tasks: { external_id: string; moved: boolean }[];
  steps: number;
}

type Move = { type: StateType; name?: string; message?: string; details?: Record<string, unknown> };

const TASK_NAMES = ["add", "load", "constructor"];
/** Names that user code could choose and that must be treated as plain text. */
const FREE_NAMES = ["Waking", "constructor", "toString"];

export class ModelEngine {
  readonly traits: EngineTraits;
  alive = true;
  readonly #ports: EnginePorts;
  readonly #requests = new Set<Pending>();
  #job: Job | null = null;
  #silentUntilUs = 0;
  #lastContactUs = 0;
  #life = 0;
  #lines = 0;
  #jobs = 0;

  constructor(traits: EngineTraits, ports: EnginePorts) {
    this.traits = traits;
    this.#ports = ports;
  }

  get isBusy(): boolean {
    return this.#job !== null;
  }

  begin(): void {
    this.#later(THINK_US, () => this.#poll());
  }

  /** The process ends, for whatever reason. */
  die(why: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#life += 1;
    this.#ports.trace.add(`${this.traits.id} (pid ${this.traits.pid}) ends: ${why}`);
    for (const pending of [...this.#requests]) this.#ports.leave(pending);
    this.#ports.ended(this);
  }

  beSilent(forUs: number): void {
    this.#silentUntilUs = this.#ports.time.monotonicUs() + forUs;
  }

  signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (!this.alive) return;
    if (signal === "SIGKILL" || this.traits.obedient) this.#later(THINK_US, () => this.die(signal));
  }

  /** Runs an action later, unless the process has ended or is silent. */
  #later(meanUs: number, run: () => void): void {
    const life = this.#life;
    const wake = (): void => {
      if (this.#life !== life) return;
      const restUs = this.#silentUntilUs - this.#ports.time.monotonicUs();
      if (restUs > 0) this.#ports.time.after(restUs, wake);
      else run();
    };
    this.#ports.time.after(this.#ports.random.delayUs(meanUs), wake);
  }

  /** Sends a request a second time, as over another connection; an engine without leases never does. */
  #askTwice(kind: CommandKind, target: number, body: unknown): void {
    if (this.traits.leases) return this.#ask(kind, target, body, null, () => undefined);
    this.#ports.submit({ kind, target, body, waitUs: null, local: !this.traits.remote }, () => undefined);
  }

  /** Sends a request and retries until the server answers, temporary errors excluded. */
  #ask(
    kind: CommandKind,
    target: number,
    body: unknown,
    waitUs: number | null,
    answered: (status: number, body: string) => void,
  ): void {
    const life = this.#life;
    let pending: Pending | null = null;
    const settled = (outcome: Outcome): void => {
      if (pending !== null) this.#requests.delete(pending);
      if (this.#life !== life) return;
      const retry = outcome.kind === "Cut" || outcome.status >= 500;
      if (retry) this.#later(RETRY_US, () => this.#ask(kind, target, body, waitUs, answered));
      else {
        this.#lastContactUs = this.#ports.time.monotonicUs();
        answered(outcome.status, outcome.body ?? "");
      }
    };
    pending = this.#ports.submit({ kind, target, body, waitUs, local: !this.traits.remote }, settled);
    if (pending !== null) this.#requests.add(pending);
  }

  #poll(): void {
    const { id, pid, key, leases, remote } = this.traits;
    const own = leases ? { owns_stop: true, host: remote ? "elsewhere" : this.#ports.host } : {};
    const body = { engine_id: id, pid, ...key, wait_ms: POLL_WAIT_US / 1000, ...own };
    this.#ask("Work", 0, body, POLL_WAIT_US, (_status, text) => {
      const answer = JSON.parse(text) as { run: WorkItem | null; exit: boolean };
      if (answer.exit) return this.die("told to exit");
      if (answer.run?.kind === "bulk_complete") this.#check(answer.run);
      if (answer.run == null || answer.run.kind !== "run") return this.#later(THINK_US, () => this.#poll());
      this.#take(answer.run);
    });
  }

  /** Answers the bulk-completion check of a backfill; sometimes sends no answer. */
  #check({ payload }: WorkItem): void {
    const { random, calm } = this.#ports;
    if (random.chance(0.2) && !calm()) return;
    const { backfill_id } = payload as { backfill_id: number };
    const skip = ["2026-01-01", "2026-01-03", "2026-01-05"].filter(() => random.chance(0.5));
    this.#later(THINK_US, () => this.#ask("PrefilterBackfill", backfill_id, { skip }, null, () => undefined));
  }

  #take(item: WorkItem): void {
    const { random } = this.#ports;
    this.#ports.trace.add(`${this.traits.id} takes run ${item.run_id} lease ${item.lease ?? "-"}`);
    this.#jobs += 1;
    this.#job = { item, number: this.#jobs, seq: 0, tasks: [], steps: this.#ports.calm() ? 0 : random.between(0, 5) };
    const name = random.chance(0.1) ? { name: random.pick(FREE_NAMES) } : {};
    const running: Move = { type: "Running", ...name };
    const begin = (): void => this.#move(running, () => this.#work());
    if (item.run_transitions === true && random.chance(0.5)) this.#report(() => this.#work(), [{ type: "Pending" }, running]);
    else if (random.chance(0.9)) this.#move({ type: "Pending" }, begin);
    else begin();
  }

  /** Sends a move of the run; a refusal means that the run belongs to another engine. */
  #move(state: Move, accepted: () => void): void {
    const job = this.#job;
    if (job === null) return;
    const { random, time } = this.#ports;
    if (job.item.run_transitions === true && random.chance(0.5)) return this.#report(accepted, [state]);
    const lease = this.traits.leases ? { lease: job.item.lease, timestamp: time.nowUs() } : {};
    const body = JSON.stringify({ name: null, message: null, details: {}, force: false, ...state, ...lease });
    const answered = (status: number): void => {
      if (this.#job !== job) return;
      if (status === 200) this.#later(THINK_US, accepted);
      else this.#leaveRun();
    };
    this.#ask("TransitionRun", job.item.run_id, body, null, answered);
    if (random.chance(0.05)) this.#askTwice("TransitionRun", job.item.run_id, body);
  }

  #work(): void {
    const job = this.#job;
    if (job === null) return;
    const { random, time } = this.#ports;
    if (job.steps <= 0) return this.#end();
    job.steps -= 1;
    const next = (): void => this.#later(random.chance(0.1) ? HEARTBEAT_US : THINK_US, () => this.#work());
    if (time.monotonicUs() - this.#lastContactUs > HEARTBEAT_US) return this.#heartbeat(next);
    const what = random.weighted({ report: 8, retry: 1, wait: 1, hang: 0.3, rest: 0.3 });
    if (what === "report") return this.#report(next);
    if (what === "retry") {
      const again = (): void => this.#move({ type: "Running", name: "Retrying" }, next);
      return this.#move({ type: "Scheduled", name: "AwaitingRetry" }, () => this.#later(THINK_US, again));
    }
    // User code blocks for a while; heartbeats continue.
    if (what === "hang") job.steps += 3;
    if (what === "rest") return this.#later(2 * HEARTBEAT_US, next);
    this.#heartbeat(next);
  }

  #heartbeat(next: () => void): void {
    const job = this.#job;
    if (job === null) return;
    const body = JSON.stringify({ engine_id: this.traits.id, run_id: job.item.run_id, ...this.#lease(job) });
    this.#ask("Heartbeat", 0, body, null, (_status, text) => {
      if (this.#job !== job) return;
      const answer = JSON.parse(text) as { cancel: boolean; active: boolean };
      if (!answer.active) return this.#leaveRun();
      if (answer.cancel) return this.#cancelled(next);
      next();
    });
  }

  #lease(job: Job): { lease?: number } {
    return this.traits.leases && job.item.lease != null ? { lease: job.item.lease } : {};
  }

  /** Reports events followed by moves of the run; if the last move was refused, the run belongs to another engine. */
  #report(next: () => void, moves: readonly Move[] = []): void {
    const job = this.#job;
    if (job === null) return;
    const head = { engine_id: this.traits.id, run_id: job.item.run_id, ...this.#lease(job) };
    const timestamp = this.#ports.time.nowUs();
    const events = moves.length > 0 && this.#ports.random.chance(0.5) ? [] : this.#events(job);
    for (const state of moves) {
      job.seq += 1;
      events.push({ kind: "run_transition", seq: job.seq, state: { ...state, timestamp } });
    }
    const body = JSON.stringify({ ...head, events });
    const answered = (status: number, text: string): void => {
      if (this.#job !== job) return;
      if (status !== 200) return this.#leaveRun();
      const { cancel, run_state } = JSON.parse(text) as ReportResponse;
      const last = moves.at(-1);
      if (last !== undefined) {
        const taken = run_state?.type === last.type && run_state.name === (last.name ?? last.type);
        return taken && run_state.timestamp === timestamp ? this.#later(THINK_US, next) : this.#leaveRun();
      }
      if (cancel) return this.#cancelled(next);
      next();
    };
    this.#ask("Report", 0, body, null, answered);
    const more = this.#ports.random.weighted({ none: 14, again: 3, next: 3 });
    if (more === "again") this.#askTwice("Report", 0, body);
    // An engine waits for the answer to its moves, which shows whether they were accepted, but for no other answer: while the
    // store rejects writes, a refused and resent report may arrive after one with later numbers.
    if (more === "next" && moves.length === 0)
      this.#ask("Report", 0, JSON.stringify({ ...head, events: this.#events(job) }), null, () => undefined);
  }

  #events(job: Job): unknown[] {
    const { random } = this.#ports;
    const events: unknown[] = [];
    for (let count = random.between(1, 4); count > 0; count -= 1) {
      job.seq += random.chance(0.1) ? 2 : 1;
      const { seq } = job;
      const what = random.weighted({ task: 2, move: 5, logs: 4, custom: 1, artifact: 1 });
      if (what === "logs") events.push({ kind: "logs", seq, logs: this.#logLines(job) });
      else if (what === "custom") events.push({ kind: "custom", seq, name: "step", payload: { mark: this.#mark(job) } });
      else if (what === "artifact") events.push(this.#artifact(job));
      else events.push(this.#taskEvent(job, what));
    }
    return events;
  }

  #taskEvent(job: Job, what: "task" | "move"): unknown {
    const { random, time } = this.#ports;
    const task = what === "move" && job.tasks.length > 0 ? random.pick(job.tasks) : undefined;
    if (task === undefined) {
      const external_id = random.uuid(time.nowUs());
      job.tasks.push({ external_id, moved: false });
      const key = random.pick(TASK_NAMES);
      return { kind: "task_run_created", seq: job.seq, external_id, name: key, task_key: key, dynamic_key: `${key}-0` };
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
    if (!task.moved) this.#ports.proposed("none", type);
    task.moved = true;
    const name = random.chance(0.1) ? random.pick([...FREE_NAMES, "Cached", "Skipped", "TimedOut"]) : type;
    const state: State = { type, name, message: null, details: {}, timestamp: time.nowUs() };
    return { kind: "task_run_transition", seq: job.seq, external_id: task.external_id, state, force: random.chance(0.02) };
  }

  #artifact(job: Job): unknown {
    const { random, time } = this.#ports;
    return {
      kind: "artifact",
      seq: job.seq,
      external_id: random.uuid(time.nowUs()),
      artifact_kind: "markdown",
      key: "notes",
      data: { text: this.#mark(job) },
    };
  }

  /** A text that is unique in the simulation and identifies sender and order. */
  #mark(job: Job): string {
    this.#lines += 1;
    return `${this.traits.id}/${this.traits.pid}|${job.item.run_id}|${job.number}|${this.#lines}`;
  }

  #logLines(job: Job): unknown[] {
    const { random, time } = this.#ports;
    return Array.from({ length: random.between(1, 3) }, () => {
      const message = this.#mark(job);
      return {
        run_id: job.item.run_id,
        level: random.pick([10, 20, 30, 40]),
        logger: "millrace.run",
        timestamp: time.nowUs(),
        message,
      };
    });
  }

  #cancelled(next: () => void): void {
    if (!this.traits.obedient && !this.#ports.calm()) return next();
    this.#move({ type: "Cancelled", message: "cancelled" }, () => this.#leaveRun());
  }

  #end(): void {
    const { random, time } = this.#ports;
    const type = random.weighted({ Completed: 8, Failed: 2, Paused: this.#ports.calm() ? 0 : 2, Crashed: 0.3 });
    if (type !== "Paused") return this.#move({ type }, () => this.#lastReport());
    const details = { prompt: "go on?", schema: null, asked_at: time.nowUs(), task_run: null };
    this.#move({ type: "Paused", message: "go on?", details }, () => this.#lastReport());
  }

  /** Engines send a last log line after the end; sometimes so late that another engine holds the run. */
  #lastReport(): void {
    const job = this.#job;
    if (job === null) return;
    if (this.#ports.random.chance(0.3)) this.#report(() => this.#leaveRun());
    else this.#leaveRun();
    if (this.#ports.random.chance(0.5)) this.#lateWords(job);
  }

  /** Requests sent when the run may belong to another engine: under a lease they must change nothing. */
  #lateWords(job: Job): void {
    if (!this.traits.leases) return;
    const head = { engine_id: this.traits.id, run_id: job.item.run_id, ...this.#lease(job) };
    const type = this.#ports.random.pick<StateType>(["Completed", "Running", "Failed"]);
    this.#later(2_000_000, () => {
      job.seq += 1;
      const timestamp = this.#ports.time.nowUs();
      const move = { kind: "run_transition", seq: job.seq + 1, state: { type, timestamp } };
      const events = [{ kind: "logs", seq: job.seq, logs: this.#logLines(job) }, move];
      job.seq += 1;
      const late = { ...this.#lease(job), type, timestamp };
      this.#ask("Report", 0, JSON.stringify({ ...head, events }), null, () => undefined);
      this.#ask("TransitionRun", job.item.run_id, JSON.stringify(late), null, () => undefined);
    });
  }

  #leaveRun(): void {
    this.#job = null;
    this.#later(THINK_US, () => this.#poll());
  }
}
