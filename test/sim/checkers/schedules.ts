/**
 * One run per fire: no fire starts twice, before its time, or although skipped by a person, and none is forgotten. Missed
 * fires follow the catch-up policy. A key names one schedule of its flow, which keeps its id and its skips when it is changed.
 * The fires of a schedule come from its own walk, which other tests check.
 */
import { nextFire } from "#actors/scheduler/recurrence/fires";
import { readSpec } from "#actors/scheduler/recurrence/spec";
import type { Schedule } from "#protocol/records/schedule";
import { isTerminal } from "#protocol/records/state";
import type { Request } from "../model-gateway.ts";
import type { SimulatedTime } from "../simulated-time.ts";
import { Violation } from "../trace.ts";
import type { Checker, Commit, Operation } from "./checker.ts";
import type { CommittedRun, CommittedSchedule, History } from "./history.ts";

const ONCE = "one run per fire";
const KEPT = "a changed schedule stays itself";
const POLICY = "missed fires follow the policy";
const FORGOTTEN = "no fire is forgotten";

/** A fire decided later than this counts as missed (actors/scheduler/fires/decide-fires.ts). */
const MISSED_AFTER_US = 60_000_000;
/** Stalls, refusals and restarts take less: a fire that waits longer was forgotten. */
const PATIENCE_US = 20_000_000;
/** Minimum of prepared runs. */
const AHEAD_COUNT = 3;
const AHEAD_FIRES_MAX = 100;
const HOUR_US = 3_600_000_000;
const MOVES: ReadonlySet<string> = new Set(["TransitionRun", "CancelRun", "DeleteRun", "ResumeRun"]);

interface CatchUp {
  occurred: number;
  policy: string;
  missed: number;
  created: number;
  dropped: number;
}

export class ScheduleChecker implements Checker {
  readonly #time: SimulatedTime;
  /** The run that started, by fire. */
  readonly #started = new Map<string, number>();
  #processStartedUs = 0;
  /** Runs that have left Scheduled: once moved back, they wait independently of the schedule. */
  readonly #moved = new Set<number>();
  /** The schedules before the batch. */
  readonly #before = new Map<number, CommittedSchedule>();
  /** Schedules created by the batch, which may also decide their first fires. */
  readonly #new = new Set<number>();
  /** Schedules that the batch corrects after a clock was ahead. */
  readonly #putRight = new Set<number>();
  /** Schedules ever corrected: fires decided twice cannot be distinguished, as those decided first already have runs. */
  readonly #everPutRight = new Set<number>();
  /** The least wall clock since the clock was first accepted: a schedule that was an hour ahead of it may be corrected. */
  #acceptedUs: number | null = null;
  /** The schedule of each run ever created for one. */
  readonly #scheduleOf = new Map<number, number>();
  readonly #requests: ReadonlyMap<number, Request>;
  readonly #overdue = new Map<number, { fire: number; sinceUs: number }>();

  constructor(time: SimulatedTime, requests: ReadonlyMap<number, Request>) {
    this.#time = time;
    this.#requests = requests;
  }

  processStarted(): void {
    this.#processStartedUs = this.#time.monotonicUs();
    this.#overdue.clear();
  }

  commit({ operations }: Commit, history: History): void {
    if (this.#acceptedUs !== null) this.#acceptedUs = Math.min(this.#acceptedUs, this.#time.nowUs());
    this.#before.clear();
    this.#new.clear();
    this.#putRight.clear();
    for (const operation of operations) {
      if (operation.name !== "put_schedule") continue;
      const known = history.schedules.get(operation.number("id"));
      if (known === undefined) this.#new.add(operation.number("id"));
      if (known !== undefined && !this.#before.has(known.id))
        this.#before.set(known.id, { ...known, skips: new Set(known.skips) });
    }
  }

  operation(operation: Operation, history: History): void {
    switch (operation.name) {
      case "put_schedule":
        return this.#schedule(operation, history.schedules.get(operation.number("id")));
      case "insert_run":
        return this.#newRun(operation, history);
      case "update_run":
        if (operation.text("state_type") !== "Scheduled") this.#moved.add(operation.number("id"));
        return;
      case "delete_skip":
        return this.#unskipped(operation, history);
      default:
    }
  }

  afterCommit(commit: Commit, history: History): void {
    for (const { id } of this.#touchedRuns(commit)) {
      const run = history.runs.get(id);
      if (run !== undefined && run.schedule !== null && run.fire !== null) this.#run(run, run.schedule, run.fire, history);
    }
    this.#kept(commit, history);
    for (const [id, before] of this.#before) {
      const after = history.schedules.get(id);
      if (after === undefined || after.consumedUntil === before.consumedUntil || this.#everPutRight.has(id)) continue;
      if (isPlainDecision(commit, before) && !this.#isMeddledWith(commit, id)) this.#decided(commit, before, after, history);
    }
  }

  look(history: History): void {
    const nowUs = this.#time.nowUs();
    const waiting = [...history.runs.values()].filter((run) => isWaiting(run) && !this.#moved.has(run.id));
    const held = Map.groupBy(waiting, (run) => run.schedule);
    const moved = Map.groupBy(
      [...history.runs.values()].filter(({ id }) => this.#moved.has(id)),
      (run) => run.schedule,
    );
    for (const schedule of history.schedules.values()) {
      const ahead = (held.get(schedule.id) ?? []).filter((run) => (run.fire ?? 0) > schedule.consumedUntil);
      // A run that was handed out before the clock was put right may come back after that: then it waits for its fire again.
      const kept = schedule.active ? undefined : ahead.find((run) => run.newestAssignment === 0);
      if (kept !== undefined) throw new Violation(ONCE, `schedule ${schedule.id} is paused and holds run ${kept.id}`);
      const byPeople = (moved.get(schedule.id) ?? []).some((run) => (run.fire ?? 0) > schedule.consumedUntil);
      if (schedule.active) this.#lookAt(schedule, ahead, byPeople, nowUs);
    }
    for (const id of held.keys())
      if (id !== null && !history.schedules.has(id) && this.#isHeldByNobody(held.get(id) ?? []))
        throw new Violation(ONCE, `run ${held.get(id)?.[0]?.id} waits for schedule ${id}, which is not there`);
  }

  /** Queued runs of a deleted schedule stay; a held run whose time has not come would wait for ever. */
  #isHeldByNobody(runs: readonly CommittedRun[]): boolean {
    return runs.some((run) => (run.fire ?? 0) > this.#time.newestUs);
  }

  #kept({ operations }: Commit, history: History): void {
    for (const operation of operations) {
      if (operation.name === "delete_skips" && history.schedules.has(operation.number("schedule_id")))
        throw new Violation(KEPT, `schedule ${operation.number("schedule_id")} lost its skips`);
      const put = operation.name === "put_schedule" ? history.schedules.get(operation.number("id")) : undefined;
      if (put === undefined || put.key === null) continue;
      for (const { id, flow, key } of history.schedules.values())
        if (id !== put.id && flow === put.flow && key === put.key)
          throw new Violation(KEPT, `schedules ${id} and ${put.id} of flow ${flow} have the key ${key}`);
    }
  }

  #schedule(operation: Operation, known: CommittedSchedule | undefined): void {
    const consumed = operation.number("consumed_until");
    const id = operation.number("id");
    if (known !== undefined && consumed < known.consumedUntil && this.#isPutRight(known, consumed)) {
      this.#putRight.add(id);
      this.#everPutRight.add(id);
    } else if (known !== undefined && consumed < known.consumedUntil)
      throw new Violation(ONCE, `schedule ${id} went back from ${known.consumedUntil} to ${consumed}`);
    if (consumed > this.#time.newestUs) throw new Violation(ONCE, `schedule ${id} decided ${consumed}, which is still to come`);
  }

  submitted(_id: number, { kind }: Request): void {
    if (kind === "AcceptClock") this.#acceptedUs ??= this.#time.nowUs();
  }

  /**
   * True for a legitimate correction after the clock was accepted: of a schedule that was more than an hour ahead, to a time
   * that has been reached. The clock may have stepped again between the acceptance and the correction.
   */
  #isPutRight(known: CommittedSchedule, consumed: number): boolean {
    const wasAhead = this.#acceptedUs !== null && known.consumedUntil - this.#acceptedUs > HOUR_US;
    return wasAhead && consumed <= this.#time.newestUs;
  }

  /** A fire whose run was deleted is skipped. A person who takes the skip back wants the fire again. */
  #unskipped(operation: Operation, history: History): void {
    const key = `${operation.number("schedule_id")}:${operation.number("fire")}`;
    const first = this.#started.get(key);
    if (first !== undefined && !history.runs.has(first)) this.#started.delete(key);
  }

  #newRun(operation: Operation, history: History): void {
    if (operation.get("schedule_id") === null || operation.get("scheduled_time") === null) return;
    const id = operation.number("schedule_id");
    const fire = operation.number("scheduled_time");
    this.#scheduleOf.set(operation.number("id"), id);
    const decidedUntil = (this.#before.get(id) ?? history.schedules.get(id))?.consumedUntil;
    if (decidedUntil !== undefined && fire <= decidedUntil && !this.#new.has(id) && !this.#putRight.has(id))
      throw new Violation(
        ONCE,
        `run ${operation.number("id")} is of fire ${fire} of schedule ${id}, decided up to ${decidedUntil}`,
      );
  }

  *#touchedRuns({ operations }: Commit): Generator<{ id: number }> {
    for (const operation of operations)
      if (operation.name === "insert_run" || operation.name === "update_run") yield { id: operation.number("id") };
  }

  #run(run: CommittedRun, schedule: number, fire: number, history: History): void {
    if (!hasStarted(run)) return;
    const key = `${schedule}:${fire}`;
    const other = this.#started.get(key) ?? run.id;
    // A fire that comes again after the clock was accepted keeps its first run, unless that run was deleted.
    const isAgain = other !== run.id && this.#everPutRight.has(schedule) && !history.runs.has(other);
    if (other !== run.id && !isAgain)
      throw new Violation(ONCE, `fire ${fire} of schedule ${schedule} ran as ${other} and ${run.id}`);
    if (this.#started.has(key) && !isAgain) return;
    this.#started.set(key, run.id);
    if (run.assignment === null) return;
    const row = history.schedules.get(schedule);
    // After an acceptance of the clock, the same commit may set the schedule back.
    if (row !== undefined && fire > row.consumedUntil && !this.#putRight.has(schedule))
      throw new Violation(ONCE, `run ${run.id} is assigned before schedule ${schedule} decided its fire ${fire}`);
    if (fire > this.#time.newestUs) throw new Violation(ONCE, `run ${run.id} is assigned before its time ${fire}`);
    if (this.#before.get(schedule)?.skips.has(fire) && row?.skips.has(fire))
      throw new Violation(ONCE, `run ${run.id} is assigned, and its fire ${fire} is skipped`);
  }

  /**
   * A schedule has decided the fires of a range: each was started, skipped or dropped, in agreement with the event and the
   * policy.
   */
  #decided(commit: Commit, before: CommittedSchedule, after: CommittedSchedule, history: History): void {
    const fires = firesOf(before.spec, before.consumedUntil, after.consumedUntil);
    const runs = new Map(
      [...history.runs.values()].filter(({ schedule }) => schedule === before.id).map((run) => [run.fire ?? 0, run]),
    );
    const told = catchUpsOf(commit, before.id);
    const sum = (count: (one: CatchUp) => number): number => told.reduce((total, one) => total + count(one), 0);
    const skips = new Set([...before.skips, ...newSkips(commit, before.id)]);
    const isOpen = (fire: number): boolean => !skips.has(fire) && !isEndedBefore(runs.get(fire), commit);
    const droppedHere = droppedRuns(commit);
    const dropped = fires.filter((fire) => isOpen(fire) && isDropped(runs.get(fire), droppedHere));
    const caughtUp = fires.filter((fire) => runs.get(fire)?.createdBy === "catchup");
    const what = `schedule ${before.id}, fires ${before.consumedUntil} to ${after.consumedUntil}`;
    if (dropped.length !== sum((one) => one.dropped))
      throw new Violation(POLICY, `${what}: ${dropped.length} dropped, told ${sum((one) => one.dropped)}`);
    if (caughtUp.length !== sum((one) => one.created))
      throw new Violation(POLICY, `${what}: ${caughtUp.length} caught up, told ${sum((one) => one.created)}`);
    for (const { policy, missed, created, dropped: left } of told) {
      if (policy !== before.catchup && policy !== after.catchup)
        throw new Violation(POLICY, `${what}: "${policy}" was applied, "${before.catchup}" is stored`);
      if (missed !== created + left) throw new Violation(POLICY, `${what}: ${missed} missed, ${created} run, ${left} dropped`);
      const wanted = policy === "skip" ? 0 : policy === "latest" ? 1 : before.catchupMax;
      if (created !== Math.min(wanted, missed))
        throw new Violation(POLICY, `${what}: ${created} of ${missed} run by "${policy}"`);
    }
    this.#times(commit, before, fires, dropped, runs, what);
  }

  /** Only missed fires are dropped, and missed fires start only through the policy. */
  #times(
    commit: Commit,
    before: CommittedSchedule,
    fires: readonly number[],
    dropped: readonly number[],
    runs: ReadonlyMap<number, CommittedRun>,
    what: string,
  ): void {
    // A commit may contain several decisions, with a sleep between them.
    const decisions = [...catchUpsOf(commit, before.id).map(({ occurred }) => occurred), ...laidOutAt(commit, before.id)];
    const decidedUs = Math.max(...decisions);
    if (!Number.isFinite(decidedUs)) return;
    const upUs = this.#time.monotonicUs() - this.#processStartedUs;
    const inTime = dropped.find((fire) => upUs > MISSED_AFTER_US + PATIENCE_US && fire > decidedUs - MISSED_AFTER_US);
    if (inTime !== undefined) throw new Violation(POLICY, `${what}: ${inTime} was dropped in time, at ${decidedUs}`);
    const lastStepFrom = decidedBeforeLastStep(commit, before);
    const late = fires.find((fire) => {
      const run = runs.get(fire);
      // An earlier step of the same commit decided the fire in time; the time of that step is not recorded.
      if (fire <= lastStepFrom) return false;
      if (run === undefined || run.createdBy === "catchup" || this.#moved.has(run.id)) return false;
      const starts = run.type === "Scheduled" && !before.skips.has(fire);
      // A fire later than all of them was decided in a further step of the same commit, whose time is not recorded.
      const since = decisions.filter((us) => us >= fire);
      return starts && since.length > 0 && fire <= Math.min(...since) - MISSED_AFTER_US - PATIENCE_US;
    });
    if (late !== undefined) throw new Violation(POLICY, `${what}: ${late} starts at ${decidedUs} although it was missed`);
  }

  #lookAt(schedule: CommittedSchedule, held: readonly CommittedRun[], byPeople: boolean, nowUs: number): void {
    const { id, consumedUntil, skips } = schedule;
    const { fires } = walkOf(schedule.spec);
    const first = nextFire(fires, consumedUntil);
    if (first !== null && first <= nowUs) return this.#isOverdue(id, first);
    this.#overdue.delete(id);
    const ahead = fires.after(consumedUntil, AHEAD_FIRES_MAX);
    const open = ahead.filter((fire) => !skips.has(fire));
    if (schedule.nextFire !== (open[0] ?? null) && ahead.length - open.length < AHEAD_FIRES_MAX)
      throw new Violation(FORGOTTEN, `schedule ${id} says ${schedule.nextFire}, its next fire is ${open[0]}`);
    const laidOut = held.filter((run) => !skips.has(run.fire ?? 0)).length;
    // Runs of the look-ahead that were cancelled or moved count as decided by a person.
    if (open.length >= AHEAD_COUNT && laidOut === 0 && !byPeople && !this.#hasStarted(id, open))
      throw new Violation(FORGOTTEN, `schedule ${id} has no run laid out`);
  }

  #hasStarted(schedule: number, fires: readonly number[]): boolean {
    return fires.some((fire) => this.#started.has(`${schedule}:${fire}`));
  }

  /**
   * Whether the batch moved or deleted a run of the schedule, or removed one of its skips: then decisions cannot be attributed.
   * The deletion of a flow is answered by a later batch than that of its first runs.
   */
  #isMeddledWith({ batch, operations }: Commit, schedule: number): boolean {
    const caughtUp = operations.flatMap((one) => (one.name === "set_run_creator" ? [one.number("id")] : []));
    const deleted = operations.flatMap((one) => (one.name === "delete_run" ? [one.number("id")] : []));
    if (deleted.some((id) => caughtUp.includes(id) && this.#scheduleOf.get(id) === schedule)) return true;
    for (let at = 0; at < batch.replies.length; at += 3) {
      const request = this.#requests.get(Number(batch.replies[at]));
      if (request === undefined) continue;
      if (request.kind === "UndoSkip" && request.target === schedule) return true;
      if (MOVES.has(request.kind) && this.#scheduleOf.get(request.target) === schedule) return true;
    }
    return false;
  }

  #isOverdue(id: number, fire: number): void {
    const nowUs = this.#time.monotonicUs();
    const known = this.#overdue.get(id);
    if (known?.fire !== fire) this.#overdue.set(id, { fire, sinceUs: nowUs });
    else if (nowUs - known.sinceUs > PATIENCE_US)
      throw new Violation(FORGOTTEN, `fire ${fire} of schedule ${id} has been due for ${nowUs - known.sinceUs} us`);
  }
}

/** A decision by time only: the batch neither paused nor resumed the schedule nor changed its spec or policy. */
function isPlainDecision({ operations }: Commit, before: CommittedSchedule): boolean {
  return operations.every((operation) => {
    if (operation.name === "delete_flow") return false;
    if (operation.name !== "put_schedule" || operation.number("id") !== before.id) return true;
    if (operation.number("updated_at") !== before.updatedAt && !hasSamePolicy(operation, before)) return false;
    return before.active && operation.number("active") === 1 && operation.text("schedule") === before.spec;
  });
}

function hasSamePolicy(operation: Commit["operations"][number], before: CommittedSchedule): boolean {
  return operation.text("catchup") === before.catchup && operation.number("catchup_max") === before.catchupMax;
}

/** The time up to which a schedule was decided before the commit's last step. */
function decidedBeforeLastStep({ operations }: Commit, before: CommittedSchedule): number {
  const rows = operations.filter((one) => one.name === "put_schedule" && one.number("id") === before.id);
  return rows.at(-2)?.number("consumed_until") ?? before.consumedUntil;
}

function catchUpsOf({ operations }: Commit, schedule: number): CatchUp[] {
  return operations.flatMap((operation) => {
    if (operation.name !== "insert_event" || operation.text("name") !== "schedule.catchup") return [];
    const payload = JSON.parse(operation.text("payload")) as CatchUp & { schedule_id: number };
    return payload.schedule_id === schedule ? [{ ...payload, occurred: operation.number("occurred") }] : [];
  });
}

function newSkips({ operations }: Commit, schedule: number): number[] {
  const put = operations.filter((one) => one.name === "put_skip" && one.number("schedule_id") === schedule);
  return put.map((one) => one.number("fire"));
}

/** A run prepared by its schedule. */
function isWaiting(run: CommittedRun): boolean {
  return run.schedule !== null && run.type === "Scheduled" && run.assignment === null;
}

/** Creation times of the schedule's runs in this batch. */
function laidOutAt({ operations }: Commit, schedule: number): number[] {
  const made = operations.filter(({ name }) => name === "insert_run").filter((run) => run.number("schedule_id") === schedule);
  return made.map((run) => run.number("created_at"));
}

/** Whether a run has been handed out, or moved to a state of a started run. */
function hasStarted(run: CommittedRun): boolean {
  return run.newestAssignment > 0 || (run.type !== "Scheduled" && run.name !== "Skipped" && run.type !== "Cancelled");
}

function isDropped(run: CommittedRun | undefined, droppedHere: ReadonlySet<number>): boolean {
  return run === undefined || isDroppedState(run) || droppedHere.has(run.id);
}

function isDroppedState({ name, details }: CommittedRun): boolean {
  return name === "Skipped" && details["reason"] === "catchup";
}

/** Runs that were dropped in this commit, also those that a person has moved on in the same commit. */
function droppedRuns({ operations }: Commit): Set<number> {
  const skipped = operations.filter((one) => one.name === "insert_event" && one.text("name") === "run.skipped");
  const dropped = skipped.filter((one) => one.get("payload") !== null && one.text("payload").includes('"reason":"catchup"'));
  return new Set(dropped.map((one) => one.number("run_id")));
}

/** True when the run had ended before its schedule decided its fire. */
function isEndedBefore(run: CommittedRun | undefined, { operations }: Commit): boolean {
  if (run === undefined || !isTerminal(run.type)) return false;
  return !operations.some((one) => (one.name === "insert_run" || one.name === "update_run") && one.number("id") === run.id);
}

const WALKS = new Map<string, ReturnType<typeof readWalk>>();

function walkOf(spec: string): ReturnType<typeof readWalk> {
  const known = WALKS.get(spec) ?? readWalk(spec);
  WALKS.set(spec, known);
  return known;
}

function readWalk(spec: string) {
  const read = readSpec(JSON.parse(spec) as Schedule, { timezone: "UTC", anchorUs: 0 });
  if (!read.ok) throw new Violation(FORGOTTEN, `a schedule was stored that cannot be read: ${spec}`);
  return read.ready;
}

function firesOf(spec: string, after: number, until: number): number[] {
  const { fires } = walkOf(spec);
  const found: number[] = [];
  for (let at = nextFire(fires, after); at !== null && at <= until; at = nextFire(fires, at)) found.push(at);
  return found;
}
