/**
 * Every open wait of a parked run is armed exactly once, and the run is woken once for each park; no wait is lost; a parked run
 * holds no engine and no resource, unless it keeps its resources; a cancel of a parked run ends it at once, with its waits.
 */
import { isTerminal } from "#protocol/records/state";
import type { Coverage } from "../coverage.ts";
import { AWAITED_EVENT } from "../durable-program.ts";
import type { Request } from "../model-gateway.ts";
import type { SimulatedTime } from "../simulated-time.ts";
import { Violation } from "../trace.ts";
import type { Checker, Commit, Operation } from "./checker.ts";
import type { CommittedWait } from "./durable-history.ts";
import { acceptedRequests, movedByPeople } from "./exchange-answers.ts";
import type { CommittedRun, History } from "./history.ts";

const ARMED = "a wait is armed once";
const WOKEN = "a run is woken once for each park";
const LOST = "no wait is lost";
const FREE = "a parked run holds nothing";
/** Stalls, refusals and restarts take less. */
const PATIENCE_US = 25_000_000;
/** States of a run that may be woken: Running with a park in the same step. */
const WAITING: ReadonlySet<string> = new Set(["Sleeping", "AwaitingEvent", "AwaitingChild", "AwaitingRetry"]);

export class DurableWaitsChecker implements Checker {
  readonly #time: SimulatedTime;
  readonly #requests: ReadonlyMap<number, Request>;
  readonly #coverage: Coverage;
  /** Since when an open wait is overdue, by the monotonic clock. */
  readonly #overdue = new Map<number, number>();
  /** Since when an event has been committed that is to settle an open wait. */
  readonly #met = new Map<number, number>();
  /**
   * The event of the first start of each lineage; 0 if retention may have deleted that event, and kept earlier ones that a wrong
   * clock has dated later.
   */
  readonly #begun = new Map<number, number>();
  #event = 0;
  /** Runs that were parked before the commit. */
  #parkedBefore = new Set<number>();
  #isTouched = false;

  constructor(time: SimulatedTime, requests: ReadonlyMap<number, Request>, coverage: Coverage) {
    this.#time = time;
    this.#requests = requests;
    this.#coverage = coverage;
  }

  commit({ result }: Commit, { durable }: History): void {
    this.#event = result.first_event_id - 1;
    this.#isTouched = durable.parks.size > 0;
    if (this.#isTouched)
      this.#parkedBefore = new Set([...durable.parks.values()].flatMap(({ run, parked }) => (parked ? [run] : [])));
    else this.#parkedBefore.clear();
  }

  operation(operation: Operation, history: History): void {
    switch (operation.name) {
      case "put_wait":
        return this.#armed(operation, history);
      case "insert_event":
        return this.#happened(operation, history);
      case "trim_history":
        for (const lineage of this.#begun.keys()) this.#begun.set(lineage, 0);
        return;
      case "insert_quarantine":
        // An event that crashed the rule engine twice is skipped.
        return this.#met.clear();
      case "settle_wait":
        return this.#settled(operation, history);
      case "put_park":
        return this.#parks(operation, history);
      case "update_run":
        return this.#moved(operation, history);
      case "delete_run":
        if (this.#parkedBefore.has(operation.number("id"))) this.#coverage.durableRun("a parked run is deleted");
        return;
      default:
    }
  }

  #armed(operation: Operation, { durable }: History): void {
    const [id, lineage, identity] = [operation.number("id"), operation.number("lineage_id"), operation.text("identity")];
    const known = durable.byIdentity.get(`${lineage} ${identity}`);
    if (known === undefined) return;
    if (known.open || known.outcome !== null || known.id !== id)
      throw new Violation(ARMED, `wait ${identity} of lineage ${lineage} is armed as ${known.id} and again as ${id}`);
    this.#coverage.durableRun("a wait that ended with its lineage is armed again");
  }

  /** An event settles the oldest wait for it of each lineage. */
  #happened(operation: Operation, { durable }: History): void {
    this.#event += 1;
    const lineage = durable.lineageOf.get(operation.number("run_id"));
    if (lineage !== undefined && operation.text("name") === "run.running" && !this.#begun.has(lineage))
      this.#begun.set(lineage, this.#event);
    if (operation.text("name") !== AWAITED_EVENT || durable.openWaits.size === 0) return;
    const { n } = JSON.parse(String(operation.get("payload"))) as { n?: number };
    const lineages = new Set<number>();
    for (const { id, kind, lineage, spec } of durable.openWaits.values()) {
      const wanted = spec.where?.["payload.n"] ?? n;
      if (kind !== "event" || wanted !== n || lineages.has(lineage)) continue;
      lineages.add(lineage);
      if (!this.#met.has(id)) this.#met.set(id, this.#time.monotonicUs());
    }
  }

  #settled(operation: Operation, { durable }: History): void {
    const wait = durable.waits.get(operation.number("id"));
    if (wait === undefined) throw new Violation(LOST, `wait ${operation.number("id")} is settled and was never armed`);
    if (!wait.open) throw new Violation("a wait is settled once", `wait ${wait.id} of lineage ${wait.lineage} is settled again`);
    this.#met.delete(wait.id);
    const outcome = operation.get("outcome");
    const kind = outcome === null ? null : (JSON.parse(String(outcome)) as { kind: string }).kind;
    if (kind === "event") this.#byEvent(wait, operation.number("event_id"), durable);
    if (kind === "timed_out") this.#coverage.durableRun("a wait times out");
  }

  #byEvent(wait: CommittedWait, event: number, { waits, lineages }: History["durable"]): void {
    this.#coverage.durableRun("an event settles a wait");
    for (const other of waits.values())
      if (other.lineage === wait.lineage && other.event === event)
        throw new Violation("an event settles one wait of a lineage", `event ${event} settles ${other.id} and ${wait.id}`);
    // A retry goes on from the start of its origin.
    let begun = this.#begun.get(wait.lineage);
    for (let from = lineages.get(wait.lineage); from?.origin != null; from = lineages.get(from.origin))
      begun = this.#begun.get(from.origin) ?? begun;
    if (begun === undefined || event <= begun)
      throw new Violation("a wait is for events since the start", `event ${event} settles ${wait.id} of lineage ${wait.lineage}`);
  }

  #parks(operation: Operation, { durable }: History): void {
    if (operation.number("parked") === 0) return;
    const run = operation.number("run_id");
    const waits = operation.get("waits") === null ? [] : (JSON.parse(operation.text("waits")) as number[]);
    if (waits.length > 1) this.#coverage.durableRun("a run is parked for several waits");
    if (waits.length === 0 && operation.get("wake_at") === null) throw new Violation(LOST, `run ${run} is parked for nothing`);
    for (const id of waits)
      if (durable.waits.get(id)?.lineage !== durable.lineageOf.get(run))
        throw new Violation(LOST, `run ${run} is parked for wait ${id} of another lineage`);
  }

  #moved(operation: Operation, { runs, durable }: History): void {
    const before = runs.get(operation.number("id"));
    if (before === undefined || operation.text("state_name") !== "Resuming") return;
    if (before.name === "Resuming" && before.timestamp === operation.number("state_timestamp")) return;
    const isAtOnce = before.type === "Running" && durable.parks.has(before.id);
    if (before.type === "Paused" || WAITING.has(before.name) || isAtOnce) return;
    throw new Violation(WOKEN, `run ${before.id} is woken while it is ${before.name}`);
  }

  afterCommit({ batch }: Commit, history: History): void {
    const { durable } = history;
    if (!this.#isTouched && durable.parks.size === 0) return;
    for (const { run, parked, waits, wakeAt, holds } of durable.parks.values()) {
      if (!parked) continue;
      const now = history.runs.get(run);
      if (now === undefined || isTerminal(now.type))
        throw new Violation(WOKEN, `run ${run} is parked and ${now?.name ?? "deleted"}`);
      checkState(now);
      if (now.assignment !== null) throw new Violation(FREE, `run ${run} is parked and with ${now.engine}`);
      for (const id of waits)
        if (!durable.openWaits.has(id)) throw new Violation(WOKEN, `run ${run} is parked on, and wait ${id} has settled`);
      if (waits.length === 0 && wakeAt === null) throw new Violation(LOST, `run ${run} is parked for nothing`);
      for (const lease of history.leases.values())
        if (lease.run === run && !holds) throw new Violation(FREE, `run ${run} is parked and has lease ${lease.id}`);
    }
    const done = acceptedRequests(batch.replies, this.#requests);
    const moved = movedByPeople(done);
    for (const request of done) this.#done(request, history, moved);
  }

  /**
   * What people ask for of parked runs.
   * @param moved runs that a person gave a state in the same commit, so that they may not have been parked when they were cancelled
   */
  #done({ kind, target }: Request, { runs, durable }: History, moved: ReadonlySet<number>): void {
    if (kind === "WakeRun") this.#coverage.durableRun("a person wakes a run");
    if (kind !== "CancelRun" || !this.#parkedBefore.has(target)) return;
    const run = runs.get(target);
    if (run === undefined || run.details["forced"] === true) return;
    this.#coverage.durableRun("a parked run is cancelled");
    if (run.assignment === null && !isTerminal(run.type) && !moved.has(target))
      throw new Violation("a cancel of a parked run ends it at once", `run ${target} is ${run.name}`);
    if (!isTerminal(run.type)) return;
    const open = [...durable.openWaits.values()].find(({ lineage }) => lineage === durable.lineageOf.get(target));
    if (open !== undefined && !hasOther(run, durable.lineages.get(open.lineage)?.runs ?? [], runs))
      throw new Violation("waits end with their lineage", `run ${target} is cancelled, and wait ${open.id} is open`);
  }

  look({ durable, runs }: History): void {
    const nowUs = this.#time.nowUs();
    for (const { id, due, lineage } of durable.openWaits.values())
      this.#isOverdue(id, due, nowUs, `wait ${id} of lineage ${lineage}`);
    for (const [id, since] of this.#met)
      if (this.#time.monotonicUs() - since > PATIENCE_US)
        throw new Violation(LOST, `wait ${id} is open although its event has occurred`);
    for (const { run, parked, wakeAt } of durable.parks.values())
      if (parked && runs.has(run)) this.#isOverdue(-run, wakeAt, nowUs, `the retry delay of run ${run}`);
  }

  #isOverdue(key: number, due: number | null, nowUs: number, what: string): void {
    if (due === null || due > nowUs) return void this.#overdue.delete(key);
    const since = this.#overdue.get(key) ?? this.#time.monotonicUs();
    this.#overdue.set(key, since);
    if (this.#time.monotonicUs() - since > PATIENCE_US) throw new Violation(LOST, `${what} has been over since ${due}`);
  }

  atRest({ durable, runs }: History): void {
    for (const wait of durable.openWaits.values()) {
      const living = [...(durable.lineages.get(wait.lineage)?.runs ?? [])].some(
        (id) => !isTerminal(runs.get(id)?.type ?? "Failed") || durable.reruns.has(id),
      );
      if (!living) throw new Violation("waits end with their lineage", `wait ${wait.id} of lineage ${wait.lineage} is open`);
    }
  }
}

function checkState({ id, type, name }: CommittedRun): void {
  const isAsking = type === "Paused";
  if (isAsking || (type === "Scheduled" && WAITING.has(name))) return;
  throw new Violation(WOKEN, `run ${id} is parked and ${name}`);
}

/** Whether another run of the lineage goes on, because somebody moved it back by force. */
function hasOther(run: CommittedRun, ids: Iterable<number>, runs: ReadonlyMap<number, CommittedRun>): boolean {
  return [...ids].some((id) => id !== run.id && !isTerminal(runs.get(id)?.type ?? "Failed"));
}
