/** When everything is committed, a live state loaded from the store equals the core's live state. */

import { ClockWatch } from "#actors/core/state/clock-watch";
import type { LiveState } from "#actors/core/state/live-state";
import { isEnded, isExclusive } from "#actors/core/state/run";
import { loadLiveState, resume } from "#actors/dispatch-group/load";
import { Quarantine } from "#actors/rule-engine/reactions/quarantine";
import { canonicalJson } from "#protocol/values/json";
import { Durations } from "#runtime/durations";
import { Outbox } from "#runtime/effect";
import { loadStore } from "#storage/load/load";
import { Statements } from "#storage/sqlite/statements";
import { serverFacts } from "../../support/server-facts.ts";
import type { SimulatedDisk } from "../simulated-disk.ts";
import { Violation } from "../trace.ts";

/** Compares the two; call only when the core has nothing uncommitted. */
export function checkReload(disk: SimulatedDisk, live: LiveState, nowUs: number): void {
  const statements = new Statements(disk.database);
  const stored = loadStore(disk.database);
  const { resourceTotals, ...settings } = live.settings;
  const loaded = loadLiveState(stored, statements, { ...settings, resourceTotals: new Map(resourceTotals) }, new Set());
  // Ignore a step of the clock that the live state has not noticed yet.
  loaded.clock = new ClockWatch(null, settings.host);
  // Use the live state's sequence, so that the comparison itself assigns no ids.
  const ports = {
    nowUs: () => nowUs,
    ids: { uuid: () => "", random: () => 0 },
    epoch: 0,
    quarantine: new Quarantine(),
    secrets: serverFacts().secrets,
    committedTurn: () => 0,
    lastSeq: () => 0,
    commits: new Durations(),
    announceEpoch: () => undefined,
    readOnly: false,
    takes: () => true,
    nextTurn: () => 0,
  };
  resume(loaded, stored, ports, new Outbox());
  // What has left the memory of the live core is compared by its ids; the rest is compared with what a reload finds of it.
  const away = [...live.parked.awayIds()].sort((a, b) => a - b);
  loaded.parked.recall([...loaded.parked.awayIds()]);
  checkReminders(loaded);
  for (const id of away) {
    const durable = loaded.runs.get(id)?.durable ?? null;
    if (durable === null || durable.park === null)
      throw new Violation("a reload changes nothing", `run ${id} is parked in the live core alone`);
    loaded.runs.delete(id);
    if (durable.lineageId !== null) loaded.durable.leave(durable.lineageId);
  }
  const partial = new Set([...live.runs.values()].flatMap(({ id, durable }) => (durable?.partial === true ? [id] : [])));
  const before = dump(live, partial);
  const after = dump(loaded, partial);
  for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
    if (before[at] === after[at]) continue;
    throw new Violation("a reload changes nothing", `live ${before[at] ?? "nothing"}\n  loaded ${after[at] ?? "nothing"}`);
  }
}

/** Each open wait that ends by itself has its reminder; takes the deadlines of the state. */
function checkReminders({ deadlines, durable }: LiveState): void {
  const reminded = new Set<number>();
  for (let due = deadlines.takeDue(Number.MAX_SAFE_INTEGER); due !== undefined; due = deadlines.takeDue(Number.MAX_SAFE_INTEGER))
    if (due.kind === "wait") reminded.add(due.wait_id);
  for (const { id, due } of durable.openWaits())
    if (due !== null && !reminded.has(id)) throw new Violation("a reload changes nothing", `wait ${id} has lost its time ${due}`);
}

/**
 * State that must survive a reload, as lines; state held only in memory (parked polls, contacts) is left out, and the task runs
 * of partial runs, some of which a park has left in the store.
 */
function dump(state: LiveState, partial: ReadonlySet<number>): string[] {
  const lines: string[] = [`next ${JSON.stringify(state.nextIds)}`];
  for (const flow of [...state.flows.values()].sort((a, b) => a.id - b.id)) {
    const { id, project, name, module, optionsText, error, handedOut, away } = flow;
    lines.push(
      `flow ${JSON.stringify([id, project, name, module, optionsText, flow.tags, canonicalJson(flow.parameter_schema), error, handedOut, away])}`,
    );
  }
  for (const run of [...state.runs.values()].sort((a, b) => a.id - b.id)) {
    const { id, priority, attempt, created_by, parent_run_id, start_time, assigned, report_seq } = run;
    const { external_id, name, parameters, tags } = state.textsOf(run);
    const texts = [external_id, name, parameters.length, tags];
    const identity = [id, run.flow.id, texts, priority, attempt, created_by, parent_run_id, start_time];
    const holder = assigned ? [run.engine_id, run.engine_pid, run.assignment_id] : null;
    const marks = [isExclusive(run), run.uncounted, run.reruns, run.fire_time];
    const counters = [report_seq, [...run.otherSequences].sort(), run.answers, run.crash_count, run.failure_count, marks];
    const counts = Object.entries(run.taskCounts).sort();
    lines.push(`run ${JSON.stringify([identity, run.state, holder, counters, counts, run.place !== "none"])}`);
    const tasks = partial.has(id) ? [] : [...run.tasks.values()];
    for (const task of tasks.sort((a, b) => a.id - b.id))
      lines.push(`task ${canonicalJson({ ...task, state: { ...task.state } })}`);
    for (const lease of state.ledger.leasesOf(id).sort((a, b) => a.id - b.id)) lines.push(`lease ${JSON.stringify(lease)}`);
  }
  lines.push(...durableOf(state), ...schedulesOf(state), ...backfillsOf(state));
  for (const { name, used } of state.ledger.list()) if (used > 0) lines.push(`used ${name} ${used}`);
  lines.push(...dumpRules(state));
  const held = [...state.engines.values()].filter((engine) => engine.runs.size > 0);
  for (const engine of held.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    lines.push(
      `engine ${JSON.stringify([engine.id, engine.pid, engine.key, engine.exchanges, engine.host, engine.local, [...engine.runs.keys()].sort()])}`,
    );
  }
  return lines;
}

/** Open waits, and what runs go on with that have left their engine. */
function durableOf(state: LiveState): string[] {
  const lines = [...state.durable.openWaits()].sort((a, b) => a.id - b.id).map((wait) => `wait ${canonicalJson({ ...wait })}`);
  for (const { id, durable, flow } of [...state.runs.values()].sort((a, b) => a.id - b.id)) {
    if (durable === null) continue;
    const { park, away, holds, progress, lineageId, callerRunId } = durable;
    // What a wait has left in memory after its end.
    if (park === null && !away && !holds && progress === null && lineageId === null && callerRunId === null) continue;
    lines.push(`durable ${canonicalJson([id, flow.away, lineageId, callerRunId, park, away, holds, progress])}`);
    const lineage = lineageId === null ? null : state.durable.get(lineageId);
    if (lineage === null) continue;
    const { depth, callerWait, origin, run, waits } = lineage;
    lines.push(
      `lineage ${canonicalJson([lineageId, depth, callerWait, origin, run?.id, [...waits.values()].map((wait) => wait.id)])}`,
    );
  }
  return lines;
}

function schedulesOf(state: LiveState): string[] {
  return [...state.schedules.all()].map((schedule) => {
    const { id, flow, spec, catchup, catchup_max, active, paused_reason, paused_until, source, code_key, persist } = schedule;
    const standing = [catchup, catchup_max, active, paused_reason, paused_until, source, code_key, persist];
    const { skips, runs, ended, consumed_until, next_fire, updated_at } = schedule;
    // Memory keeps an ended run with its fire; the store only shows that the run existed.
    const over = [...runs].flatMap(([fire, run]) => (isEnded(run) ? [fire] : []));
    const open = [...runs].flatMap(([fire, run]) => (isEnded(run) ? [] : [[fire, run.id]]));
    const fires = [consumed_until, next_fire, [...skips].sort(), open.sort(), [...ended, ...over].sort()];
    return `schedule ${JSON.stringify([id, flow.id, spec, standing, fires, updated_at])}`;
  });
}

function backfillsOf(state: LiveState): string[] {
  const unfinished = new Set([...state.runs.values()].map((run) => run.backfill_id));
  const backfills = [...state.backfills.all()].filter(({ id }) => unfinished.has(id)).sort((a, b) => a.id - b.id);
  return backfills.map((backfill) => `backfill ${canonicalJson({ ...backfill, counts: Object.fromEntries(backfill.counts) })}`);
}

function dumpRules({ rules }: LiveState): string[] {
  const lines = [`rules ${JSON.stringify([rules.storedCursor, rules.nextIds])}`];
  for (const rule of [...rules.rules.values()].sort((a, b) => a.id - b.id)) lines.push(`rule ${canonicalJson(rule)}`);
  for (const firing of [...rules.firings.values()].sort((a, b) => a.id - b.id)) lines.push(`firing ${canonicalJson(firing)}`);
  for (const message of [...rules.outbound.values()].sort((a, b) => a.id - b.id)) lines.push(`message ${canonicalJson(message)}`);
  for (const expectation of [...rules.expectations.values()].sort((a, b) => a.id - b.id))
    lines.push(`expectation ${canonicalJson(expectation)}`);
  return lines;
}
