/**
 * Hands runs to engines: queues a run, gives it to a parked poll with its resources and its assignment in one batch, and
 * takes back leases and assignment.
 */
import { LATE_AFTER_US } from "#protocol/limits";
import { backfillOfTag } from "../../core/state/backfill.ts";
import { type Engine, type ParkedPoll, storedEngine } from "../../core/state/engine.ts";
import { isLeft, suffices } from "../../core/state/ledger.ts";
import type { LiveState } from "../../core/state/live-state.ts";
import { isEnded, isExclusive, needsOf, type Run, type WaitReason, withSequence } from "../../core/state/run.ts";
import { beginWait, endWait, markHandOut } from "../../core/state/run-marks.ts";
import { engineKeyOf, hasPolls, inOrder, type KeyQueue, pollsOf } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";
import { LEASE_MANAGER } from "../../names.ts";
import { noteAway, noteHandOut } from "../durable/away.ts";
import { beginLineage } from "../durable/lineages.ts";
import { orderStop } from "../engines/stop-order.ts";
import { blockingOf, giveUpReservations } from "./reservation.ts";
import { hasPlace, isRunningFull } from "./running-cap.ts";
import { renderAnswer, renderWorkItem } from "./work-item.ts";

/** Runs noted as holders of what a run waits for. */
export const HOLDERS_NOTED = 3;

/** Queues a Scheduled run at its place, and hands it out if an engine waits. */
export function enqueue(turn: Turn, run: Run): void {
  // A parked run has no place: the end of its wait queues it.
  if (run.durable !== null && run.durable.park !== null) return;
  const { queue, deadlines } = turn.state;
  const reason = holdReason(turn.state, run);
  if (reason !== null) return hold(turn, run, reason);
  if (run.scheduled_time !== null) deadlines.add("late", run.id, run.scheduled_time + LATE_AFTER_US);
  if (isToCome(turn, run)) {
    queue.putAside(run, "future");
    beginWait(run, { code: "not_due", object: null, sinceUs: turn.nowUs });
    if (run.scheduled_time !== null) deadlines.add("due", run.id, run.scheduled_time);
    return;
  }
  if (isFarBack(turn.state, run)) return beginWait(run, queue.putBehind(run, turn.nowUs));
  const blocking = blockingOf(turn.state, run);
  if (blocking !== null) return block(turn, run, blocking);
  const keyQueue = queue.putReady(run);
  beginWait(run, { code: "no_engine", object: keyQueue.key.text, sinceUs: turn.nowUs });
  dispatch(turn, keyQueue);
  if (run.place !== "ready") return;
  turn.state.demand.set(keyQueue.key.text, keyQueue.key);
  if (isRunningFull(turn.state)) beginWait(run, { code: "max_running", object: null, sinceUs: turn.nowUs });
}

/** Whether the scheduled time of a run is to come. A run that was parked goes on, even if the clock was set back since. */
function isToCome({ state, nowUs }: Turn, run: Run): boolean {
  if (run.durable?.away === true || run.scheduled_time === null) return false;
  return run.scheduled_time > nowUs && !state.schedules.hasDecided(run);
}

/** What a run has to wait for before it may start: its schedule's fire or its backfill is undecided. */
function holdReason(state: LiveState, run: Run): WaitReason["code"] | null {
  // A run that was parked has started: its schedule does not hold it, even if the clock was set back since.
  if (run.durable?.away !== true && state.schedules.holds(run)) return "not_due";
  return state.backfills.holds(run) ? "held" : null;
}

function hold(turn: Turn, run: Run, code: WaitReason["code"]): void {
  turn.state.queue.putAside(run, code === "held" ? "held" : "future");
  beginWait(run, { code, object: code === "held" ? `backfill:${run.backfill_id}` : null, sinceUs: turn.nowUs });
}

/**
 * Whether enough runs of a backfill are in the queue that this run waits in the line behind. Only runs that never started do;
 * others continue in the queue.
 */
function isFarBack(state: LiveState, run: Run): boolean {
  if (run.backfill_id === null || run.state.name !== "Scheduled" || run.start_time !== null) return false;
  return isLineFull(state, run.backfill_id);
}

function isLineFull(state: LiveState, backfillId: number): boolean {
  const backfill = state.backfills.get(backfillId);
  return backfill !== undefined && state.queue.nearOf(backfillId) >= backfill.concurrency + state.settings.backfillNearMax;
}

/** Queues the next runs of a backfill when earlier runs have left the queue. */
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

/** Gives ready runs of a key to its parked requests: one to each in order, then a second one, as far as each has slots. */
export function dispatch(turn: Turn, keyQueue: KeyQueue): void {
  if (!hasPolls(keyQueue)) return;
  const given = new Map<ParkedPoll, string[]>();
  const released: string[] = [];
  const polls = [...pollsOf(keyQueue)];
  for (let round = 1, some = true; some; round += 1) {
    some = false;
    for (const poll of polls) {
      if (poll.slots < round) continue;
      const run = nextRun(turn, keyQueue, poll.engine);
      // What an engine without runs cannot have, no other engine can.
      if (run === null && poll.engine.wanted === null && poll.engine.runs.size === 0) break;
      if (run === null) continue;
      some = true;
      const item = assign(turn, run, poll.engine, poll.command, released);
      const items = given.get(poll);
      if (items === undefined) given.set(poll, [item]);
      else items.push(item);
    }
  }
  for (const [poll, items] of given) answerPoll(turn, poll, items);
  // Only now, because what is freed wakes further runs for requests that are still parked.
  if (released.length > 0) capacityFreed(turn, released);
}

/** Hands out runs that waited for a place, first those that come first. */
export function dispatchPlaces(turn: Turn): void {
  const { state } = turn;
  state.placeFreed = false;
  if (isRunningFull(state)) return;
  const waiting = [...state.queue.keys()].flatMap((keyQueue) => {
    const first = hasPolls(keyQueue) ? state.queue.first(keyQueue, false) : undefined;
    return first === undefined ? [] : [{ keyQueue, first }];
  });
  for (const { keyQueue } of waiting.sort((a, b) => inOrder(a.first, b.first))) dispatch(turn, keyQueue);
}

/** Takes up to `count` ready runs for an engine; returns their work items. */
export function takeRuns(turn: Turn, engine: Engine, command: number, count: number): string[] {
  const keyQueue = turn.state.queue.of(engine.key);
  const items: string[] = [];
  const released: string[] = [];
  while (items.length < count) {
    const run = nextRun(turn, keyQueue, engine);
    if (run === null) break;
    items.push(assign(turn, run, engine, command, released));
  }
  if (released.length > 0) capacityFreed(turn, released);
  return items;
}

/** The next run of a key that an engine may have now, or null. */
function nextRun(turn: Turn, keyQueue: KeyQueue, { wanted, runs }: Engine): Run | null {
  if (holdsExclusive(runs)) return null;
  const run = wanted === null ? firstFree(turn, keyQueue, runs.size > 0) : freeIfReady(turn, keyQueue, wanted);
  return run !== null && hasPlace(turn.state, keyQueue, run) ? run : null;
}

/** Whether an engine holds a run that shares its engine with no other: then that run is the only one. */
export function holdsExclusive(runs: ReadonlyMap<number, Run>): boolean {
  const [first] = runs.values();
  return runs.size === 1 && first !== undefined && isExclusive(first);
}

/** Answers a parked request with work items. */
export function answerPoll(turn: Turn, poll: ParkedPoll, items: readonly string[]): void {
  turn.state.queue.unpark(poll);
  turn.answers.poll(poll.command, renderAnswer(poll.exchange, items, false, [], poll.stops));
}

/** The first ready run of a key whose resources are free; earlier runs become blocked. */
function firstFree(turn: Turn, keyQueue: KeyQueue, shared: boolean): Run | null {
  const { queue } = turn.state;
  for (let run = queue.first(keyQueue, shared); run !== undefined; run = queue.first(keyQueue, shared)) {
    const blocking = blockingOf(turn.state, run);
    if (blocking === null) return run;
    block(turn, run, blocking);
  }
  return null;
}

/** The run that an engine wants, if it is ready under this key and its resources are free. */
function freeIfReady(turn: Turn, keyQueue: KeyQueue, wanted: number): Run | null {
  const run = turn.state.runs.get(wanted);
  if (run?.place !== "ready" || engineKeyOf(run).text !== keyQueue.key.text) return null;
  const blocking = blockingOf(turn.state, run);
  if (blocking === null) return run;
  block(turn, run, blocking);
  return null;
}

/** Moves a run that lacks a resource beside the queue. */
export function block(turn: Turn, run: Run, resource: string): void {
  turn.state.queue.putBlocked(run, resource);
  turn.state.newlyBlocked.add(run);
  if (run.waiting?.object === resource) return;
  const holders = turn.state.ledger.firstHolders(resource, HOLDERS_NOTED);
  beginWait(run, { code: "resource", object: resource, sinceUs: turn.nowUs, holders });
}

/**
 * Assignment and leases are one batch; the state stays Scheduled until the engine reports. Returns the work item, which the
 * answer to `command` carries, and adds the resources that were reserved for the run to `released`.
 */
function assign(turn: Turn, run: Run, engine: Engine, command: number, released: string[]): string {
  const { state } = turn;
  state.queue.leave(run);
  rememberSequence(run);
  const id = state.nextIds.lease;
  state.nextIds.lease += 1;
  const resources = needsOf(run);
  if (Object.keys(resources).length > 0) {
    const lease = { id, run_id: run.id, kind: "run" } as const;
    state.ledger.take({ ...lease, resources, sinceUs: turn.nowUs });
    turn.rows.put("insert_lease", { ...lease, resources: JSON.stringify(resources), created_at: turn.nowUs });
  }
  run.assignment_id = id;
  run.engine_id = engine.id;
  run.engine_pid = engine.pid;
  run.report_seq = 0;
  if (run.otherSequences.has(engine.id))
    run.otherSequences = new Map([...run.otherSequences].filter(([key]) => key !== engine.id));
  run.assigned = true;
  state.durations.handedOut(run, turn.nowUs);
  run.acknowledged = false;
  run.lastContactUs = state.uptimeUs();
  endWait(run, turn.nowUs);
  markHandOut(run, turn.nowUs);
  if (run.flow.options.durable) beginLineage(turn, run);
  if (run.durable !== null) noteHandOut(turn, run, run.durable);
  run.flow.handedOut += 1;
  engine.runs.set(run.id, run);
  engine.lastWorkUs = turn.nowUs;
  storeEngine(turn, engine);
  turn.rows.touchRun(run, false);
  state.rememberCommand(command, run);
  released.push(...giveUpReservations(state, run));
  return renderWorkItem(state, run, engine);
}

/**
 * Keeps the report numbers of the previous engine, so that its late reports are compared with its own numbers, not with those
 * of the next engine.
 */
function rememberSequence(run: Run): void {
  if (run.assignment_id === 0) return;
  run.otherSequences = withSequence(run.otherSequences, run.engine_id ?? "", run.report_seq);
  const key = sequenceKeyOf(run.assignment_id);
  const last = Math.max(run.report_seq, run.otherSequences.get(key) ?? 0);
  run.otherSequences = withSequence(run.otherSequences, key, last);
}

/** The key under which report numbers of an ended assignment are kept. */
export function sequenceKeyOf(assignment: number): string {
  return `#${assignment}`;
}

/** Stores an engine that holds a run, so that a restarted server recognises its process. */
function storeEngine(turn: Turn, engine: Engine): void {
  if (engine.stored) return;
  engine.stored = true;
  putEngine(turn, engine);
}

/**
 * Sets the start time of an engine's process, read while its first run is handed out. Without the start time, a later process
 * that reuses the pid would be taken for this engine.
 */
export function processSeen(turn: Turn, engine: Engine, startedTicks: number | null): void {
  if (engine.pidStarted === startedTicks) return;
  engine.pidStarted = startedTicks;
  if (engine.stored) putEngine(turn, engine);
}

/** Notes whether an engine exchanges or polls. */
export function noteProtocol(turn: Turn, engine: Engine, exchanges: boolean): void {
  if (engine.exchanges === exchanges) return;
  engine.exchanges = exchanges;
  if (engine.stored) putEngine(turn, engine);
}

function putEngine(turn: Turn, engine: Engine): void {
  turn.rows.put("put_engine", {
    id: engine.id,
    pid: engine.pid,
    pid_started: engine.pidStarted,
    host: engine.host,
    project_key: storedEngine(engine),
    last_contact: turn.nowUs,
  });
}

/**
 * A run that a person paused or moved back runs on in its engine, which sends no lease and so was not stopped. The run is held
 * again, so that it does not outlive the engine as Running. An engine that has got another run since has left this one.
 */
export function holdAgain(turn: Turn, run: Run): void {
  const engine = run.engine_id === null ? undefined : turn.state.engines.get(run.engine_id);
  if (run.assigned || engine === undefined || engine.ownsStop) return;
  if (engine.runs.size > 0 || engine.pid !== run.engine_pid) return;
  run.assigned = true;
  run.acknowledged = true;
  run.lastContactUs = turn.state.uptimeUs();
  run.flow.handedOut += 1;
  engine.runs.set(run.id, run);
  turn.rows.touchRun(run, false);
}

/** Releases assignment and leases of a run that ends, pauses or returns to the queue. */
export function releaseRun(turn: Turn, run: Run, worked = true): void {
  const { state } = turn;
  if (run.assigned) {
    run.assigned = false;
    state.durations.released(run);
    orderStop(turn, run, "gone");
    run.flow.handedOut -= 1;
    state.placeFreed ||= state.settings.runningMax !== null;
    const engine = run.engine_id === null ? undefined : state.engines.get(run.engine_id);
    if (engine?.runs.delete(run.id) && worked) noteDone(turn, engine);
  }
  // A parked run may keep its resources.
  if (run.durable?.holds === true && !isEnded(run)) return;
  const freed = new Set<string>();
  for (const lease of state.ledger.leasesOf(run.id)) {
    for (const resource of state.ledger.end(lease.id)) freed.add(resource);
    turn.rows.put("delete_lease", { id: lease.id });
  }
  if (freed.size > 0) capacityFreed(turn, [...freed]);
}

/** Counts a run of an engine; after its number of runs the pool replaces the engine. */
function noteDone({ state }: Turn, engine: Engine): void {
  engine.runsDone += 1;
  if (engine.spawned && engine.runsDone >= state.settings.engineRunsMax) state.demand.set(engine.key.text, engine.key);
}

/**
 * Wakes runs that wait for the freed resources, in the order of the queue, as long as the resources suffice; then waiting
 * requests for leases.
 */
export function capacityFreed(turn: Turn, resources: readonly string[]): void {
  const { queue, ledger } = turn.state;
  for (const resource of resources) {
    for (const keyQueue of queue.keys()) {
      let free = ledger.freeOf(resource);
      const fits = (run: Run): boolean => {
        const need = needsOf(run)[resource] ?? 0;
        if (!suffices(free, need)) return false;
        free -= need;
        return true;
      };
      for (const run of queue.freed(keyQueue, resource, fits, () => isLeft(free))) queue.putReady(run);
      dispatch(turn, keyQueue);
    }
    const backfill = backfillOfTag(resource);
    if (backfill !== null) moveUp(turn, backfill);
  }
  turn.out.send(LEASE_MANAGER, { kind: "CapacityFreed", resources });
}

/** Queues a run again when its hand-out did not reach the engine, or the engine did not start the run. */
export function takeBack(turn: Turn, run: Run): void {
  if (isEnded(run) || !run.assigned) return;
  releaseRun(turn, run, false);
  turn.rows.touchRun(run, false);
  if (run.durable?.stored === true) noteAway(run, run.durable);
  if (run.state.type === "Scheduled") enqueue(turn, run);
}

/** Moves waiting runs to their new place after `change`, such as a change of the flow's module or options. */
export function requeue(turn: Turn, runs: readonly Run[], change: () => void): void {
  const waiting = runs.filter((run) => run.place !== "none");
  for (const run of waiting) turn.state.queue.leave(run);
  change();
  for (const run of waiting) enqueue(turn, run);
}

/** The queue of the engines that can execute a run. */
export function queueOf(turn: Turn, run: Run): KeyQueue {
  return turn.state.queue.of(engineKeyOf(run));
}
