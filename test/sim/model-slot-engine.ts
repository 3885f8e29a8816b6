/**
 * A model of an engine process that executes several runs side by side, with two connections for exchanges. Exchanges are lost,
 * repeated, and overtaken by newer ones; reports are wrong, or name leases that were never given. The engine hands runs back,
 * forgets runs, disobeys orders to stop, and takes back slots that it has offered.
 */
import type { ReportResponse, WorkItem } from "#protocol/records/engine";
import type { ExchangeOutcome, ExchangeResponse, StopOrder } from "#protocol/records/exchange";
import type { StateType } from "#protocol/records/state";
import { DurableCourse } from "./durable-course.ts";
import { follow, type Hands, parkForRetry } from "./durable-hands.ts";
import { EngineProcess, HEARTBEAT_US, isAnswered, POLL_WAIT_US, RETRY_US, THINK_US } from "./engine-process.ts";
import type { Outcome } from "./model-gateway.ts";
import { type Move, ReportedRun } from "./reported-run.ts";

const CONNECTIONS = 2;
/** No run was ever given under this lease. */
const NO_LEASE = 900_000_000_000;

interface HeldRun {
  run: ReportedRun;
  lease: number;
  /** The server has accepted its start. */
  begun: boolean;
  /** Its last move is on its way. */
  ending: boolean;
}

/** A report for the next exchange. */
interface Part {
  held: HeldRun;
  events: unknown[];
  returned: boolean;
  settled(outcome: ExchangeOutcome): void;
}

/** A report whose answer is not waited for. */
interface Extra {
  run_id: number;
  lease: number;
  events: unknown[];
}

export class ModelSlotEngine extends EngineProcess {
  readonly #held = new Map<number, HeldRun>();
  /** Leases of runs that ended here: an answer on its way may still give such a run. */
  readonly #left = new Set<number>();
  /** Runs with a report on its way; the next one waits, because the numbers of a run grow. */
  readonly #reporting = new Set<HeldRun>();
  #parts: Part[] = [];
  #extras: Extra[] = [];
  #number = 0;
  #underWay = 0;
  #isWoken = false;
  #isLeaving = false;
  #offered: number;
  #taken = 0;

  constructor(...args: ConstructorParameters<typeof EngineProcess>) {
    super(...args);
    this.#offered = this.traits.slots;
  }

  get runs(): number {
    return this.#held.size;
  }

  begin(): void {
    this.#wake();
  }

  override die(why: string): void {
    const begun = [...this.#held.values()].filter((held) => held.begun).length;
    if (this.alive && begun > 0 && begun < this.#held.size) this.ports.reached("an engine ends with begun and other runs");
    if (this.alive && this.#held.size >= 100) this.ports.reached("an engine ends with 100 runs");
    super.die(why);
  }

  /** Exchanges soon, with everything that there is to report by then. */
  #wake(meanUs = THINK_US): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.later(meanUs, () => {
      this.#isWoken = false;
      this.#exchange();
    });
  }

  #exchange(): void {
    if (this.#underWay >= CONNECTIONS) return;
    const parts = this.#takeParts();
    // One exchange without reports is held; another one would only end it.
    const isEnough = this.#underWay > 0 && parts.length + this.#extras.length === 0 && this.ports.random.chance(0.7);
    if (isEnough) return;
    const isIdle = this.#held.size + parts.length + this.#reporting.size === 0;
    if (this.#isLeaving && isIdle) return this.die("has ended its runs and leaves");
    this.#number += 1;
    this.#carry(this.#bodyOf(parts), parts);
  }

  #bodyOf(parts: readonly Part[]): string {
    const { id, pid, key, remote } = this.traits;
    const reports: unknown[] = parts.map(({ held, events, returned }) => {
      const report = { run_id: held.run.item.run_id, lease: held.lease, events };
      return returned ? { ...report, returned } : report;
    });
    reports.push(...this.#extrasBeside(parts));
    if (parts.length > 1) this.ports.reached("reports of several runs in one exchange");
    if (parts.length === 0 && this.#underWay > 0) this.ports.reached("a newer exchange ends a held one");
    return JSON.stringify({
      engine_id: id,
      pid,
      ...key,
      host: remote ? "elsewhere" : this.ports.host,
      exchange: this.#number,
      slots: this.#slots(),
      held: [...this.#held].map(([run_id, { lease }]) => ({ run_id, lease })),
      reports,
      ...(this.ports.random.chance(0.2) ? { hold: false } : {}),
    });
  }

  /** How many further runs the engine takes: what it offers changes all the time. */
  #slots(): number {
    const { random, calm } = this.ports;
    if (calm() || random.chance(0.4)) this.#offered = this.traits.slots;
    else if (random.chance(0.2)) this.#offered = random.between(0, this.traits.slots);
    return this.#isLeaving ? 0 : Math.max(0, this.#offered - this.#held.size);
  }

  /** One report for each run without a report on its way. */
  #takeParts(): Part[] {
    const taken: Part[] = [];
    const rest: Part[] = [];
    const runs = new Set<number>();
    for (const part of this.#parts) {
      const run = part.held.run.item.run_id;
      const waits = runs.has(run) || this.#reporting.has(part.held);
      runs.add(run);
      (waits ? rest : taken).push(part);
    }
    for (const { held } of taken) this.#reporting.add(held);
    this.#parts = rest;
    return taken;
  }

  /** Further reports that the exchange carries: at most one for each run. */
  #extrasBeside(parts: readonly Part[]): Extra[] {
    const { random, calm } = this.ports;
    const runs = new Set(parts.map(({ held }) => held.run.item.run_id));
    if (!calm() && random.chance(0.06)) this.#addWrong(runs);
    if (!calm() && random.chance(0.04)) this.#addNeverGiven();
    const extras = this.#extras.filter(({ run_id }) => {
      const isFirst = !runs.has(run_id);
      runs.add(run_id);
      return isFirst;
    });
    this.#extras = [];
    return extras;
  }

  /** A report with one good and one malformed event: nothing of it may be applied. */
  #addWrong(reported: ReadonlySet<number>): void {
    const held = [...this.#held.values()].find(({ run }) => !reported.has(run.item.run_id));
    if (held === undefined) return;
    const { run, lease } = held;
    const good = { kind: "logs", seq: run.seq + 1, logs: run.logLines() };
    this.#extras.push({ run_id: run.item.run_id, lease, events: [good, { kind: "logs", seq: run.seq + 2, logs: "none" }] });
    if (reported.size > 0) this.ports.reached("a wrong report beside good ones");
  }

  /** A report of a run that this engine never had. */
  #addNeverGiven(): void {
    const { random, time, newestRun } = this.ports;
    const run_id = random.between(1, newestRun() + 1);
    this.#taken += 1;
    const message = `${this.traits.id}/${this.traits.pid}|${run_id}|${this.#taken}|1`;
    const line = { run_id, level: 20, logger: "millrace.run", timestamp: time.nowUs(), message };
    this.#extras.push({ run_id, lease: NO_LEASE, events: [{ kind: "logs", seq: 1, logs: [line] }] });
    this.ports.reached("a report under a lease that was never given");
  }

  /** Sends an exchange, sometimes a second time over another connection, whose answer is not read. */
  #carry(body: string, parts: readonly Part[]): void {
    const { random, calm } = this.ports;
    this.#underWay += 1;
    const request = { kind: "Exchange", target: 0, body, waitUs: POLL_WAIT_US } as const;
    this.send(request, (outcome) => {
      this.#underWay -= 1;
      this.#settle(body, parts, outcome);
    });
    if (calm() || !random.chance(0.05)) return;
    this.ports.reached("the same exchange is sent twice");
    this.later(random.pick([THINK_US, 1_000_000]), () => this.send(request, () => undefined));
  }

  #settle(body: string, parts: readonly Part[], outcome: Outcome): void {
    const { random } = this.ports;
    if (isAnswered(outcome) && outcome.status === 200) return this.#answered(parts, outcome.body ?? "");
    if (!isAnswered(outcome) && random.chance(0.5)) {
      this.ports.reached("a lost exchange is sent again under its number");
      return this.later(RETRY_US, () => this.#carry(body, parts));
    }
    if (isAnswered(outcome)) this.ports.reached("an older exchange is refused");
    else if (parts.length > 0) this.ports.reached("reports of a lost exchange go with a newer one");
    for (const part of parts.toReversed()) this.#putBack(part);
    this.#wake(RETRY_US);
  }

  /** Reports again what was not applied, before anything newer about the run. */
  #putBack(part: Part): void {
    this.#reporting.delete(part.held);
    this.#parts.unshift(part);
  }

  #answered(parts: readonly Part[], text: string): void {
    const { exit, runs, reports, stop } = JSON.parse(text) as ExchangeResponse;
    for (const part of parts.toReversed()) {
      const outcome = reports.find(({ run_id, lease }) => run_id === part.held.run.item.run_id && lease === part.held.lease);
      if (outcome === undefined || outcome.status === 503) this.#putBack(part);
      else this.#settlePart(part, outcome);
    }
    if (reports.some(({ status }) => status === 503)) this.ports.reached("a report behind one that is applied in slices");
    // A run has begun to compute: the engine takes no further runs, not even those that it has asked for.
    if (!this.ports.calm() && this.ports.random.chance(0.05)) this.#offered = this.#held.size;
    for (const order of stop) this.#stop(order);
    for (const item of runs) this.#take(item);
    this.#isLeaving ||= exit;
    this.#wake();
  }

  #settlePart(part: Part, outcome: ExchangeOutcome): void {
    this.#reporting.delete(part.held);
    if (outcome.status === undefined) part.settled(outcome);
    else this.#leave(part.held);
  }

  #take(item: WorkItem): void {
    if (item.kind === "bulk_complete") this.check(item);
    if (item.kind !== "run") return;
    const { random, calm } = this.ports;
    const lease = item.lease ?? 0;
    const known = this.#held.get(item.run_id);
    if (known?.lease === lease || this.#left.has(lease)) return this.ports.reached("two answers give the same run");
    if (known !== undefined) this.#leave(known);
    if (!calm() && random.chance(0.03)) return this.ports.reached("an engine forgets a run before its start");
    this.ports.trace.add(`${this.traits.id} takes run ${item.run_id} lease ${lease}`);
    this.#taken += 1;
    const held = { run: new ReportedRun(item, this.traits, this.#taken, this.ports), lease, begun: false, ending: false };
    this.#held.set(item.run_id, held);
    const isTooMany = this.#held.size > this.#offered;
    if (isTooMany) this.ports.reached("a run is given to a slot that is gone");
    if ((isTooMany && random.chance(0.7)) || (!calm() && random.chance(0.05))) return this.#handBack(held);
    this.later(random.chance(0.2) ? 2_000_000 : THINK_US, () => this.#start(held));
  }

  #holds(held: HeldRun): boolean {
    return this.#held.get(held.run.item.run_id) === held;
  }

  #leave(held: HeldRun): void {
    this.#left.add(held.lease);
    if (this.#holds(held)) this.#held.delete(held.run.item.run_id);
    this.#wake();
  }

  /** Hands back a run that was not begun; sometimes the engine lists it until the server has answered. */
  #handBack(held: HeldRun): void {
    if (this.ports.random.chance(0.5)) this.#leave(held);
    this.#parts.push({
      held,
      events: [],
      returned: true,
      settled: () => {
        this.ports.reached("a run is handed back");
        this.#leave(held);
      },
    });
    this.#wake();
  }

  #start(held: HeldRun): void {
    if (!this.#holds(held) || held.ending) return;
    this.#report(held, [], [{ type: "Pending" }, { type: "Running" }], () => {
      held.begun = true;
      const { item } = held.run;
      if (item.durable == null) this.#work(held);
      else follow(new DurableCourse(item, this.ports), this.#handsOn(held));
    });
  }

  /** What the course of a durable run, or a park, needs of this engine. */
  #handsOn(held: HeldRun): Hands {
    const { random, time, calm, reachedDurable } = this.ports;
    const { run } = held;
    return {
      ...{ random, time, calm, reached: reachedDurable },
      holds: () => this.#holds(held) && !held.ending,
      seq: () => {
        run.seq += 1;
        return run.seq;
      },
      later: (meanUs, next) => this.later(meanUs, next),
      report: (events, settled) => {
        this.#parts.push({
          held,
          events: [...events],
          returned: false,
          settled: (outcome) => this.#ifHeld(held, outcome, settled),
        });
        this.#wake();
      },
      reportLate: (events, settled) => {
        this.#parts.push({ held, events: [...events], returned: false, settled });
        this.#wake();
      },
      reportAlone: (events, settled) => this.#sendAlone(held, events, (answer) => this.#ifHeld(held, answer, settled)),
      ask: (kind, target, body, answered) => this.ask(kind, target, body, null, answered),
      leave: () => this.#leave(held),
      cancel: () => this.#cancel(held),
      end: () => this.#end(held),
      fail: () => {
        held.ending = true;
        this.#report(held, [], [{ type: "Failed", message: "a wait was refused" }], () => this.#lastReports(held));
      },
    };
  }

  #ifHeld<Outcome>(held: HeldRun, outcome: Outcome, settled: (outcome: Outcome) => void): void {
    if (this.#holds(held) && !held.ending) settled(outcome);
  }

  /** Events of a run, then moves; `next` once the server has applied them. */
  #report(held: HeldRun, events: readonly unknown[], states: readonly Move[], next: () => void): void {
    const timestamp = this.ports.time.nowUs();
    // The lease in the details shows under which assignment the run was moved.
    const moves = states.map((state) => ({ ...state, details: { ...state.details, lease: held.lease } }));
    const settled = ({ run_state }: ExchangeOutcome): void => {
      if (!this.#holds(held)) return;
      const last = states.at(-1);
      const isTaken = run_state?.type === last?.type && run_state?.name === (last?.name ?? last?.type);
      if (last === undefined || (isTaken && run_state?.timestamp === timestamp)) return this.later(THINK_US, next);
      if (run_state?.type === "Cancelling") this.#cancel(held);
      else this.#leave(held);
    };
    this.#parts.push({ held, events: [...events, ...held.run.moves(moves, timestamp)], returned: false, settled });
    this.#wake();
  }

  #work(held: HeldRun): void {
    if (!this.#holds(held) || held.ending) return;
    const { random, calm } = this.ports;
    const { run } = held;
    if (run.steps <= 0) return this.#end(held);
    run.steps -= 1;
    const next = (): void => this.later(random.chance(0.1) ? HEARTBEAT_US : THINK_US, () => this.#work(held));
    const what = random.weighted({ report: 8, alone: 1.5, retry: 1, rest: 1, leave: calm() ? 0 : 0.2 });
    if (what === "report") return this.#report(held, run.events(), [], next);
    if (what === "alone") return this.#reportAlone(held, next);
    if (what === "rest") return this.later(2 * HEARTBEAT_US, () => this.#work(held));
    if (what === "leave") {
      this.ports.reached("an engine leaves a run that has begun");
      return void this.#held.delete(run.item.run_id);
    }
    if (random.chance(0.4)) return parkForRetry(run.item, this.#handsOn(held), next);
    const again = (): void => this.#report(held, [], [{ type: "Running", name: "Retrying" }], next);
    this.#report(held, [], [{ type: "Scheduled", name: "AwaitingRetry" }], () => this.later(THINK_US, again));
  }

  /** A report as a request of its own, as for large reports; an exchange may overtake its slices. */
  #reportAlone(held: HeldRun, next: () => void): void {
    if (this.#reporting.has(held)) return next();
    const { run, lease } = held;
    this.#sendAlone(held, run.events(), next);
    if (this.ports.random.chance(0.5)) return;
    this.#extras.push({ run_id: run.item.run_id, lease, events: [] });
    this.#exchange();
  }

  /** Once no other report of the run is on its way. */
  #sendAlone(held: HeldRun, events: readonly unknown[], next: (answer: ReportResponse) => void): void {
    if (this.#reporting.has(held)) return this.later(THINK_US, () => this.#sendAlone(held, events, next));
    this.#reporting.add(held);
    const { run, lease } = held;
    const body = JSON.stringify({ engine_id: this.traits.id, run_id: run.item.run_id, lease, events });
    this.ports.reached("a report as a request of its own");
    this.ask("Report", 0, body, null, (status, text) => {
      this.#reporting.delete(held);
      if (status === 200) next(JSON.parse(text) as ReportResponse);
      else this.#leave(held);
      this.#wake();
    });
  }

  #end(held: HeldRun): void {
    const { random, time, calm } = this.ports;
    held.ending = true;
    const type = random.weighted({ Completed: 8, Failed: 2, Paused: calm() ? 0 : 2, Crashed: 0.3, neighbour: 0.7 });
    const details = { prompt: "go on?", schema: null, asked_at: time.nowUs(), task_run: null };
    const state: Move =
      type === "neighbour"
        ? { type: "Crashed", message: "stopped with run 1", details: { fault: random.pick(["other", "unknown"]) } }
        : type === "Paused"
          ? { type, message: "go on?", details }
          : { type };
    const events = random.chance(0.5) ? held.run.events() : [];
    this.#report(held, events, [state], () => this.#lastReports(held));
  }

  #stop({ run_id, lease, reason }: StopOrder): void {
    const held = this.#held.get(run_id);
    if (held?.lease !== lease || (reason === "cancel" && held.ending)) return;
    const obeys = this.traits.obedient || this.ports.calm() || this.ports.random.chance(0.1);
    this.ports.reached(obeys ? "an order to stop is obeyed" : "an order to stop is not obeyed");
    if (!obeys) return;
    if (reason === "gone") this.#leave(held);
    else this.#cancel(held);
  }

  #cancel(held: HeldRun): void {
    held.ending = true;
    this.#report(held, [], [{ type: "Cancelled", message: "cancelled" }], () => this.#lastReports(held));
  }

  /** Hooks report after the end; and an engine may speak so late that another one holds the run. */
  #lastReports(held: HeldRun): void {
    const { random } = this.ports;
    this.#leave(held);
    if (random.chance(0.4)) {
      const settled = (): void => this.ports.reached("a report after the end of its run");
      this.#parts.push({ held, events: held.run.events(), returned: false, settled });
    }
    if (random.chance(0.3)) this.later(2_000_000, () => this.#lateWords(held));
  }

  /** A move under a lease that has ended: it must change nothing. */
  #lateWords(held: HeldRun): void {
    const { random, time } = this.ports;
    const type = random.pick<StateType>(["Completed", "Running", "Failed"]);
    const events = [...held.run.events(), ...held.run.moves([{ type, details: { lease: held.lease } }], time.nowUs())];
    this.#parts.push({ held, events, returned: false, settled: () => undefined });
    this.#wake();
  }
}
