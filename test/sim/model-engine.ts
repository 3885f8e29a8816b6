/**
 * A model of an engine process that takes one run at a time: polls, moves its run, reports task runs and log lines. It may
 * die, be silent, send requests twice, send leases or not, and obey a cancel or not.
 */
import type { ReportResponse, WorkItem } from "#protocol/records/engine";
import type { StateType } from "#protocol/records/state";
import type { CommandKind } from "#protocol/wire/command";
import { EngineProcess, HEARTBEAT_US, POLL_WAIT_US, THINK_US } from "./engine-process.ts";
import { FREE_NAMES, type Move, ReportedRun } from "./reported-run.ts";

export class ModelEngine extends EngineProcess {
  #job: ReportedRun | null = null;
  #jobs = 0;

  get runs(): number {
    return this.#job === null ? 0 : 1;
  }

  begin(): void {
    this.later(THINK_US, () => this.#poll());
  }

  /** Sends a request a second time, as over another connection; an engine without leases never does. */
  #askTwice(kind: CommandKind, target: number, body: unknown): void {
    if (this.traits.leases) return this.ask(kind, target, body, null, () => undefined);
    this.ports.submit({ kind, target, body, waitUs: null, local: !this.traits.remote }, () => undefined);
  }

  #poll(): void {
    const { id, pid, key, leases, remote } = this.traits;
    const own = leases ? { owns_stop: true, host: remote ? "elsewhere" : this.ports.host } : {};
    const body = { engine_id: id, pid, ...key, wait_ms: POLL_WAIT_US / 1000, ...own };
    this.ask("Work", 0, body, POLL_WAIT_US, (_status, text) => {
      const answer = JSON.parse(text) as { run: WorkItem | null; exit: boolean };
      if (answer.exit) return this.die("told to exit");
      if (answer.run?.kind === "bulk_complete") this.check(answer.run);
      if (answer.run == null || answer.run.kind !== "run") return this.later(THINK_US, () => this.#poll());
      this.#take(answer.run);
    });
  }

  #take(item: WorkItem): void {
    const { random } = this.ports;
    this.ports.trace.add(`${this.traits.id} takes run ${item.run_id} lease ${item.lease ?? "-"}`);
    this.#jobs += 1;
    this.#job = new ReportedRun(item, this.traits, this.#jobs, this.ports);
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
    const { random, time } = this.ports;
    if (job.item.run_transitions === true && random.chance(0.5)) return this.#report(accepted, [state]);
    const lease = this.traits.leases ? { lease: job.item.lease, timestamp: time.nowUs() } : {};
    const body = JSON.stringify({ name: null, message: null, details: {}, force: false, ...state, ...lease });
    const answered = (status: number): void => {
      if (this.#job !== job) return;
      if (status === 200) this.later(THINK_US, accepted);
      else this.#leaveRun();
    };
    this.ask("TransitionRun", job.item.run_id, body, null, answered);
    if (random.chance(0.05)) this.#askTwice("TransitionRun", job.item.run_id, body);
  }

  #work(): void {
    const job = this.#job;
    if (job === null) return;
    const { random, time } = this.ports;
    if (job.steps <= 0) return this.#end();
    job.steps -= 1;
    const next = (): void => this.later(random.chance(0.1) ? HEARTBEAT_US : THINK_US, () => this.#work());
    if (time.monotonicUs() - this.contactUs > HEARTBEAT_US) return this.#heartbeat(next);
    const what = random.weighted({ report: 8, retry: 1, wait: 1, hang: 0.3, rest: 0.3 });
    if (what === "report") return this.#report(next);
    if (what === "retry") {
      const again = (): void => this.#move({ type: "Running", name: "Retrying" }, next);
      return this.#move({ type: "Scheduled", name: "AwaitingRetry" }, () => this.later(THINK_US, again));
    }
    // User code blocks for a while; heartbeats continue.
    if (what === "hang") job.steps += 3;
    if (what === "rest") return this.later(2 * HEARTBEAT_US, next);
    this.#heartbeat(next);
  }

  #heartbeat(next: () => void): void {
    const job = this.#job;
    if (job === null) return;
    const body = JSON.stringify({ engine_id: this.traits.id, run_id: job.item.run_id, ...this.#lease(job) });
    this.ask("Heartbeat", 0, body, null, (_status, text) => {
      if (this.#job !== job) return;
      const answer = JSON.parse(text) as { cancel: boolean; active: boolean };
      if (!answer.active) return this.#leaveRun();
      if (answer.cancel) return this.#cancelled(next);
      next();
    });
  }

  #lease(job: ReportedRun): { lease?: number } {
    return this.traits.leases && job.item.lease != null ? { lease: job.item.lease } : {};
  }

  /** Reports events followed by moves of the run; if the last move was refused, the run belongs to another engine. */
  #report(next: () => void, moves: readonly Move[] = []): void {
    const job = this.#job;
    if (job === null) return;
    const head = { engine_id: this.traits.id, run_id: job.item.run_id, ...this.#lease(job) };
    const timestamp = this.ports.time.nowUs();
    const events = moves.length > 0 && this.ports.random.chance(0.5) ? [] : job.events();
    events.push(...job.moves(moves, timestamp));
    const body = JSON.stringify({ ...head, events });
    const answered = (status: number, text: string): void => {
      if (this.#job !== job) return;
      if (status !== 200) return this.#leaveRun();
      const { cancel, run_state } = JSON.parse(text) as ReportResponse;
      const last = moves.at(-1);
      if (last !== undefined) {
        const taken = run_state?.type === last.type && run_state.name === (last.name ?? last.type);
        return taken && run_state.timestamp === timestamp ? this.later(THINK_US, next) : this.#leaveRun();
      }
      if (cancel) return this.#cancelled(next);
      next();
    };
    this.ask("Report", 0, body, null, answered);
    const more = this.ports.random.weighted({ none: 14, again: 3, next: 3 });
    if (more === "again") this.#askTwice("Report", 0, body);
    // An engine waits for the answer to its moves, which shows whether they were accepted, but for no other answer: while the
    // store rejects writes, a refused and resent report may arrive after one with later numbers.
    if (more === "next" && moves.length === 0)
      this.ask("Report", 0, JSON.stringify({ ...head, events: job.events() }), null, () => undefined);
  }

  #cancelled(next: () => void): void {
    if (!this.traits.obedient && !this.ports.calm()) return next();
    this.#move({ type: "Cancelled", message: "cancelled" }, () => this.#leaveRun());
  }

  #end(): void {
    const { random, time } = this.ports;
    const type = random.weighted({ Completed: 8, Failed: 2, Paused: this.ports.calm() ? 0 : 2, Crashed: 0.3 });
    if (type !== "Paused") return this.#move({ type }, () => this.#lastReport());
    const details = { prompt: "go on?", schema: null, asked_at: time.nowUs(), task_run: null };
    this.#move({ type: "Paused", message: "go on?", details }, () => this.#lastReport());
  }

  /** Engines send a last log line after the end; sometimes so late that another engine holds the run. */
  #lastReport(): void {
    const job = this.#job;
    if (job === null) return;
    if (this.ports.random.chance(0.3)) this.#report(() => this.#leaveRun());
    else this.#leaveRun();
    if (this.ports.random.chance(0.5)) this.#lateWords(job);
  }

  /** Requests sent when the run may belong to another engine: under a lease they must change nothing. */
  #lateWords(job: ReportedRun): void {
    if (!this.traits.leases) return;
    const head = { engine_id: this.traits.id, run_id: job.item.run_id, ...this.#lease(job) };
    const type = this.ports.random.pick<StateType>(["Completed", "Running", "Failed"]);
    this.later(2_000_000, () => {
      job.seq += 1;
      const timestamp = this.ports.time.nowUs();
      const move = { kind: "run_transition", seq: job.seq + 1, state: { type, timestamp } };
      const events = [{ kind: "logs", seq: job.seq, logs: job.logLines() }, move];
      job.seq += 1;
      const late = { ...this.#lease(job), type, timestamp };
      this.ask("Report", 0, JSON.stringify({ ...head, events }), null, () => undefined);
      this.ask("TransitionRun", job.item.run_id, JSON.stringify(late), null, () => undefined);
    });
  }

  #leaveRun(): void {
    this.#job = null;
    this.later(THINK_US, () => this.#poll());
  }
}
