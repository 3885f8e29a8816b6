/**
 * Hands runs to engines: queueing a run, giving it to a parked poll with its resources and its assignment in one batch,
 * and taking back what a run holds.
 */
import { LATE_AFTER_US } from "#protocol/limits";
import { putOperation } from "#storage/ops";
import { backfillOfTag } from "../live-state/backfill.ts";
import type { Engine, ParkedPoll } from "../live-state/engine.ts";
import type { LiveState } from "../live-state/live-state.ts";
import { isEnded, needsOf, type Run, type WaitReason, withSequence } from "../live-state/run.ts";
import { LEASES } from "../names.ts";
import type { Turn } from "../turn.ts";
import { type KeyQueue, keyOfRun } from "./queue.ts";
import { blockingOf, giveUpReservations } from "./reservation.ts";
import { renderWorkItem } from "./work-item.ts";

/** Puts a Scheduled run where it belongs and hands it out if an engine waits. */
export function enqueue(turn: Turn, run: Run): void {
  const { queue, deadlines } = turn.state;
  const holder = holderOf(turn.state, run);
  if (holder !== null) return hold(turn, run, holder);
  if (run.scheduled_time !== null) deadlines.add("late", run.id, run.scheduled_time + LATE_AFTER_US);
  if (run.scheduled_time !== null && run.scheduled_time > turn.nowUs && !turn.state.schedules.hasDecided(run)) {
    queue.putAside(run, "future");
    run.waiting = { code: "not_due", object: null, sinceUs: turn.nowUs };
    deadlines.add("due", run.id, run.scheduled_time);
    return;
  }
  if (isFarBack(turn.state, run)) return queue.putBehind(run, turn.nowUs);
  const blocking = blockingOf(turn.state, run);
  if (blocking !== null) return block(turn, run, blocking);
  const keyQueue = queue.putReady(run);
  run.waiting = { code: "no_engine", object: keyQueue.key, sinceUs: turn.nowUs };
  dispatch(turn, keyQueue);
  if (run.place === "ready") turn.state.demand.add(keyQueue.key);
}

/** What must be decided before a run may start at all: the fire of its schedule, or what is under way with its backfill. */
function holderOf(state: LiveState, run: Run): WaitReason["code"] | null {
  if (state.schedules.holds(run)) return "not_due";
  return state.backfills.holds(run) ? "held" : null;
}

function hold(turn: Turn, run: Run, code: WaitReason["code"]): void {
  turn.state.queue.putAside(run, code === "held" ? "held" : "future");
  run.waiting = { code, object: code === "held" ? `backfill:${run.backfill_id}` : null, sinceUs: turn.nowUs };
}

/**
 * Whether so many runs of a backfill are before this one in the queue that its turn is not near. Only runs that never started
 * stand in line; others go on where they were.
 */
function isFarBack(state: LiveState, run: Run): boolean {
  if (run.backfill_id === null || run.state.name !== "Scheduled" || run.start_time !== null) return false;
  return isLineFull(state, run.backfill_id);
}

function isLineFull(state: LiveState, backfillId: number): boolean {
  const backfill = state.backfills.get(backfillId);
  return backfill !== undefined && state.queue.nearOf(backfillId) >= backfill.concurrency + state.settings.backfillNearMax;
}

/** Queues the next runs of a backfill as those before them have left the queue. */
export function moveUp(turn: Turn, backfillId: number): void {
  const { state } = turn;
  while (!isLineFull(state, backfillId)) {
    const next = state.queue.takeBehind(backfillId);
    if (next === undefined) return;
    enqueue(turn, next);
  }
}

/** Takes a waiting run out of the queue while its backfill is being cancelled. */
export function holdForBackfill(turn: Turn, run: Run): void {
  hold(turn, run, "held");
}

/** Gives ready runs of a key to its parked polls, in order, as long as there are both. */
export function dispatch(turn: Turn, keyQueue: KeyQueue): void {
  for (const poll of keyQueue.polls) {
    const { wanted } = poll.engine;
    const run = wanted === null ? firstFree(turn, keyQueue) : freeIfReady(turn, keyQueue, wanted);
    if (run !== null) assign(turn, run, poll);
    else if (wanted === null) return;
  }
}

/** The first ready run of a key whose resources are free; those before it wait beside the queue from now on. */
function firstFree(turn: Turn, keyQueue: KeyQueue): Run | null {
  const { queue } = turn.state;
  for (let run = queue.first(keyQueue); run !== undefined; run = queue.first(keyQueue)) {
    const blocking = blockingOf(turn.state, run);
    if (blocking === null) return run;
    block(turn, run, blocking);
  }
  return null;
}

/** The run that an engine wants, when it is ready under this key and its resources are free. */
function freeIfReady(turn: Turn, keyQueue: KeyQueue, wanted: number): Run | null {
  const run = turn.state.runs.get(wanted);
  if (run?.place !== "ready" || keyOfRun(run) !== keyQueue.key) return null;
  const blocking = blockingOf(turn.state, run);
  if (blocking === null) return run;
  block(turn, run, blocking);
  return null;
}

/** A run that lacks a resource waits beside the queue. */
export function block(turn: Turn, run: Run, resource: string): void {
  turn.state.queue.putBlocked(run, resource);
  turn.state.newlyBlocked.add(run);
  if (run.waiting?.object !== resource) run.waiting = { code: "resource", object: resource, sinceUs: turn.nowUs };
}

/** The assignment and the resources it takes are one batch; the state stays Scheduled until the engine reports. */
function assign(turn: Turn, run: Run, poll: ParkedPoll): void {
  const { state } = turn;
  const { engine } = poll;
  state.queue.leave(run);
  state.queue.unpark(poll);
  rememberSequence(run);
  const id = state.nextIds.lease;
  state.nextIds.lease += 1;
  const resources = needsOf(run);
  if (Object.keys(resources).length > 0) {
    state.ledger.take({ id, run_id: run.id, kind: "run", resources, sinceUs: turn.nowUs });
    putOperation(turn.decision.ops, "insert_lease", id, run.id, "run", JSON.stringify(resources), turn.nowUs);
  }
  run.assignment_id = id;
  run.engine_id = engine.id;
  run.engine_pid = engine.pid;
  run.report_seq = 0;
  if (run.otherSequences.has(engine.id))
    run.otherSequences = new Map([...run.otherSequences].filter(([key]) => key !== engine.id));
  run.assigned = true;
  run.acknowledged = false;
  run.lastContactUs = turn.nowUs;
  run.lastCommand = poll.command;
  run.waiting = null;
  run.flow.handedOut += 1;
  engine.runs.add(run.id);
  engine.lastWorkUs = turn.nowUs;
  storeEngine(turn, engine);
  turn.touchRun(run, false);
  state.rememberCommand(poll.command, run);
  const released = giveUpReservations(state, run);
  if (released.length > 0) capacityFreed(turn, released);
  turn.decision.replies.push(poll.command, 200, renderWorkItem(run, engine, state.parametersOf(run)));
}

/** The numbers of the engine that held the run so far stay known, so that its late reports are told from the next engine's. */
function rememberSequence(run: Run): void {
  if (run.assignment_id === 0) return;
  run.otherSequences = withSequence(run.otherSequences, run.engine_id ?? "", run.report_seq);
  run.otherSequences = withSequence(run.otherSequences, sequenceKeyOf(run.assignment_id), run.report_seq);
}

/** The key of the report numbers of an assignment that is over. */
export function sequenceKeyOf(assignment: number): string {
  return `#${assignment}`;
}

/** An engine that holds a run is stored, so that a restarted server recognises its process. */
function storeEngine(turn: Turn, engine: Engine): void {
  if (engine.stored) return;
  engine.stored = true;
  putEngine(turn, engine);
}

/** The start time of its process is read while its first run is on the way: without it a later process of that pid passes for it. */
export function processSeen(turn: Turn, engine: Engine, startedTicks: number | null): void {
  if (engine.pidStarted === startedTicks) return;
  engine.pidStarted = startedTicks;
  if (engine.stored) putEngine(turn, engine);
}

function putEngine(turn: Turn, engine: Engine): void {
  const started = engine.pidStarted;
  putOperation(
    turn.decision.ops,
    "put_engine",
    engine.id,
    engine.pid,
    started,
    engine.host,
    JSON.stringify(engine.key),
    turn.nowUs,
  );
}

/** Takes everything from a run that ends, pauses or goes back to the queue: its assignment and its leases. */
export function releaseRun(turn: Turn, run: Run, worked = true): void {
  const { state } = turn;
  if (run.assigned) {
    run.assigned = false;
    run.flow.handedOut -= 1;
    const engine = run.engine_id === null ? undefined : state.engines.get(run.engine_id);
    if (engine?.runs.delete(run.id) && worked) engine.runsDone += 1;
  }
  const freed = new Set<string>();
  for (const lease of state.ledger.leasesOf(run.id)) {
    for (const resource of state.ledger.end(lease.id)) freed.add(resource);
    putOperation(turn.decision.ops, "delete_lease", lease.id);
  }
  if (freed.size > 0) capacityFreed(turn, [...freed]);
}

/** Wakes the runs that wait for freed resources, first in first out, as far as these now suffice; then waiting acquires. */
export function capacityFreed(turn: Turn, resources: readonly string[]): void {
  const { queue, ledger } = turn.state;
  for (const resource of resources) {
    for (const keyQueue of queue.keys()) {
      let free = ledger.freeOf(resource);
      const fits = (run: Run): boolean => {
        const need = needsOf(run)[resource] ?? 0;
        if (need > free) return false;
        free -= need;
        return true;
      };
      for (const run of queue.freed(keyQueue, resource, fits, () => free > 0)) queue.putReady(run);
      dispatch(turn, keyQueue);
    }
    const backfill = backfillOfTag(resource);
    if (backfill !== null) moveUp(turn, backfill);
  }
  turn.out.send(LEASES, { kind: "CapacityFreed", resources });
}

/** A run whose hand-out never reached its engine, or which its engine did not start, waits again. */
export function takeBack(turn: Turn, run: Run): void {
  if (isEnded(run) || !run.assigned) return;
  releaseRun(turn, run, false);
  turn.touchRun(run, false);
  if (run.state.type === "Scheduled") enqueue(turn, run);
}

/** Puts the runs of a flow under their new key after its module or options changed. */
export function requeue(turn: Turn, runs: readonly Run[], change: () => void): void {
  const waiting = runs.filter((run) => run.place !== "none");
  for (const run of waiting) turn.state.queue.leave(run);
  change();
  for (const run of waiting) enqueue(turn, run);
}

/** The queue of the engines that may execute a run. */
export function queueOf(turn: Turn, run: Run): KeyQueue {
  return turn.state.queue.of(keyOfRun(run));
}
