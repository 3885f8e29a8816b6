/**
 * The live state of the dispatch group: flows, unfinished runs, engines, leases and the queue, in memory.
 *
 * It is loaded from the store when the group starts and folded with each decision from then on. The actors of the group share
 * it, run on one thread and are restarted as one, so it is one unit of consistency. Ended runs stay for a while, because
 * engines send a last report after the end; older ones are read from the store again when a command names them.
 */

import { UnknownFields } from "#protocol/unknown-fields";
import type { LoadedRules } from "#storage/load-rules";
import { ClockWatch } from "../clock/watch.ts";
import type { OpenCancel } from "../dispatcher/cancel-backfill.ts";
import { Deadlines } from "../dispatcher/deadlines.ts";
import type { KeyedRun } from "../dispatcher/fan-in.ts";
import { OpenReports } from "../dispatcher/open-reports.ts";
import { WorkQueue } from "../dispatcher/queue.ts";
import { Ledger } from "../leases/ledger.ts";
import type { StoredVariable } from "../records/variables.ts";
import { NO_RULES, RuleBook } from "../rules/rule.ts";
import { type Backfill, BackfillBook, backfillTag, countMove } from "./backfill.ts";
import { EndedRuns } from "./ended-runs.ts";
import { type Engine, type EngineKey, engineKeyText } from "./engine.ts";
import { concurrencyResource, type Flow, flowKey } from "./flow.ts";
import { RecentRows } from "./recent-rows.ts";
import type { Run } from "./run.ts";
import { isEnded } from "./run.ts";
import { RunRoom } from "./run-room.ts";
import { ScheduleBook } from "./schedule.ts";

/** Answers of which it is known what they are about; an answer that cannot be delivered is reported within moments. */
const ANSWERS_REMEMBERED_MAX = 4096;

/** The first answer to a request with an Idempotency-Key. */
export interface StoredAnswer {
  /** Tells a repetition from another request under the same key. */
  fingerprint: string;
  status: number;
  /** JSON text, or `event:<id>` for an answer that is an event; null while the event has no id yet. */
  body: string | null;
}

/** Values of fan-in keys kept in memory; others are read from the store again. */
const KEYED_VALUES_MAX = 10_000;

/** Numbers the next row of each table that the core numbers. */
export interface NextIds {
  flow: number;
  run: number;
  task_run: number;
  artifact: number;
  lease: number;
  schedule: number;
  backfill: number;
}

/** What the group needs from outside: reading one run from the store. */
export interface RunReader {
  /** The run, with its task runs unless they are not wanted, or null. Only for runs whose last change is committed. */
  readRun(id: number, withTasks?: boolean): Run | null;
  /** Parameters too large to be kept in memory, as canonical JSON text. */
  readParameters(id: number): string;
  findArtifact(runId: number, externalId: string): { id: number; created_at: number } | null;
  /** A backfill that has no unfinished run. */
  readBackfill(id: number): Backfill | null;
  /** What is stored of a value of the key of a downstream flow. */
  findFanIn(downstreamId: number, value: string): KeyedRun[];
  findAnswer(idempotencyKey: string): StoredAnswer | null;
  findVariable(name: string): StoredVariable | null;
  hasSecrets(): boolean;
  hasOldHistory(beforeUs: number, lastEvent: number): boolean;
  runsEndedBefore(beforeUs: number, limit: number): number[];
  /** Runs of a schedule for fires after a moment, in any state. */
  runsOfFiresAfter(scheduleId: number, us: number): number[];
  /** Whether a rule has fired for a run, as far as it is committed. */
  hasFired(ruleId: number, runId: number): boolean;
  /** How many rules led to a run, as far as it is committed. */
  chainOf(runId: number): number;
}

/** Configuration the group works by; the first three can be changed while it runs. */
export interface DispatchSettings {
  crashRetriesDefault: number;
  retainDays: number;
  /** Null: ended runs are kept. */
  readonly retainRunsDays: number | null;
  /** Declared totals of resources. */
  readonly resourceTotals: Map<string, number>;
  readonly emailConfigured: boolean;
  catchupDefault: string;
  /** The zone of schedules that name none. */
  timezone: string;
  /** False: schedules rest, because the server is there for one run only. */
  schedulesFire: boolean;
  cancelGraceUs: number;
  /** Runs of a backfill that are made, or cancelled, in one step; other commands have their turn in between. */
  backfillSliceRuns: number;
  /** Runs of a backfill in the queue beyond those that may run at once. */
  backfillNearMax: number;
  /** A crashed run is run again after a random time between these. */
  rerunDelaySeconds: readonly [number, number];
  /** False: engines are run by the user. */
  spawnEngines: boolean;
  /** Engines the pool may run at once, and runs after which one is replaced. */
  enginesMax: number;
  engineRunsMax: number;
  externalEnginesMax: number;
  unfinishedRunsMax: number;
  /** Module patterns beyond our own that the pool has a command for. */
  enginePatterns: readonly string[];
  /** Host name and boot id, as engines announce theirs. */
  host: string;
  /** The directory whose code the server can have called itself; null for none. */
  servedDir: string | null;
  /** Part of the ids of spawned engines. */
  serverPid: number;
}

/** An engine process the pool has started. */
export interface PoolEngine {
  id: string;
  key: EngineKey;
  keyText: string;
  startedUs: number;
  /** It has asked for work at least once. */
  polled: boolean;
  /** It has told that its module cannot be loaded, so its end is no riddle. */
  toldFailure?: true;
}

/** Engines of one key that ended before they asked for work. */
export interface FailedStarts {
  count: number;
  /** When the next one is started. */
  retryUs: number;
  /** How the last one ended. */
  cause: string | null;
}

/** A job for an engine that is no run. */
export interface EngineJob {
  /** The answer that hands it out, as JSON text. */
  itemText: string;
  /** How often it has been given out. */
  tries: number;
  /** The backfill whose check it is; null for other jobs. */
  backfillId: number | null;
  /** Who was given it last, and when. */
  engineId: string | null;
  givenUs: number;
}

export class LiveState {
  readonly flows = new Map<number, Flow>();
  /** Those that have not ended. */
  readonly runs = new Map<number, Run>();
  readonly room: RunRoom;
  readonly engines = new Map<string, Engine>();
  readonly ledger = new Ledger();
  readonly queue = new WorkQueue();
  readonly deadlines = new Deadlines(() => this.uptimeUs());
  readonly openReports = new OpenReports();
  /** Backfills that are being cancelled, by id. */
  readonly openCancels = new Map<number, OpenCancel>();
  readonly schedules = new ScheduleBook();
  readonly backfills = new BackfillBook();
  /** Engines that the pool has started and that have not gone. */
  readonly pool = new Map<string, PoolEngine>();
  /** By engine key, until an engine of the key has worked. */
  readonly failedStarts = new Map<string, FailedStarts>();
  /** The pool has told which of its engines live; before, none is started. */
  poolKnown = false;
  /** Keys that have runs and may lack engines; looked at when the step ends. */
  readonly demand = new Set<string>();
  /** Resources kept for a run that has waited too long. */
  readonly reservations = new Map<string, Run>();
  /** Runs that met a lack of resources since the last look. */
  readonly newlyBlocked = new Set<Run>();
  readonly jobs = new Map<string, EngineJob[]>();
  readonly rules: RuleBook;
  /** What the server's log has said of fields in bodies that they do not take. */
  readonly unknownFields = new UnknownFields();
  readonly variables: RecentRows<string, StoredVariable>;
  readonly nextIds: NextIds;
  readonly settings: DispatchSettings;
  /** Number of the newest step that is committed. */
  committedTurn: () => number = () => 0;
  /** How long the server's process has been up. It never steps, and a machine that sleeps adds nothing to it. */
  uptimeUs: () => number = () => 0;
  /** How long the machine has been up, its sleep included; nobody sets that clock. */
  bootUs: () => number = () => 0;
  clock: ClockWatch;
  /** True once the server is stopping: no run is created, parked polls leave. */
  stopping = false;
  readonly reader: RunReader;
  readonly #flowsByKey = new Map<string, Flow>();
  readonly #downstream = new Map<string, Set<Flow>>();
  readonly #answered: { command: number; run: Run }[] = [];
  #answeredCount = 0;
  readonly #keyedRuns = new Map<string, { runs: Map<number, KeyedRun>; turn: number }>();
  /** Answers under an Idempotency-Key whose commit is not known yet. */
  readonly #answers = new Map<string, { answer: StoredAnswer; turn: number }>();
  readonly #large: { run: Run; turn: number }[] = [];
  readonly #ended = new EndedRuns();
  /** Runs whose deletion is not committed yet: the store still has them. */
  readonly #removed = new Map<number, number>();

  constructor(reader: RunReader, nextIds: NextIds, settings: DispatchSettings, rules: LoadedRules = NO_RULES) {
    this.reader = reader;
    this.rules = new RuleBook({ ...rules, next_ids: { ...rules.next_ids } }, reader);
    this.variables = new RecentRows((name) => reader.findVariable(name));
    this.nextIds = nextIds;
    this.settings = settings;
    this.room = new RunRoom(settings.unfinishedRunsMax);
    this.clock = new ClockWatch(null, settings.host);
    for (const [name, total] of settings.resourceTotals) this.ledger.setTotal(name, total);
  }

  flowByName(project: string, name: string): Flow | undefined {
    return this.#flowsByKey.get(flowKey(project, name));
  }

  /** Adds a flow, or takes in that its options changed. */
  putFlow(flow: Flow): void {
    this.#forgetUpstreams(flow);
    this.flows.set(flow.id, flow);
    this.#flowsByKey.set(flowKey(flow.project, flow.name), flow);
    if (flow.options.maxConcurrent > 0) this.ledger.setImplied(concurrencyResource(flow), flow.options.maxConcurrent);
    for (const upstream of flow.options.after?.flows ?? []) {
      const key = flowKey(flow.project, upstream);
      const known = this.#downstream.get(key) ?? new Set<Flow>();
      this.#downstream.set(key, known.add(flow));
    }
    for (const affected of [flow, ...this.upstreamOf(flow)]) this.#inheritPriority(affected);
  }

  /** The registered flows this one declares as upstream. */
  upstreamOf(flow: Flow): Flow[] {
    return (flow.options.after?.flows ?? []).flatMap((name) => this.flowByName(flow.project, name) ?? []);
  }

  #inheritPriority(flow: Flow): void {
    const asked = this.downstreamOf(flow).map((downstream) => downstream.options.priority);
    flow.inheritedPriority = asked.length === 0 ? null : Math.max(...asked);
  }

  removeFlow(flow: Flow): void {
    this.#forgetUpstreams(flow);
    this.flows.delete(flow.id);
    for (const upstream of this.upstreamOf(flow)) this.#inheritPriority(upstream);
    this.#flowsByKey.delete(flowKey(flow.project, flow.name));
  }

  /** Flows that name this one as an upstream. */
  downstreamOf(flow: Flow): Flow[] {
    return [...(this.#downstream.get(flowKey(flow.project, flow.name)) ?? [])];
  }

  /** A run of any state; undefined when there is none. */
  findRun(id: number): Run | undefined {
    const known = this.runs.get(id) ?? this.#ended.get(id);
    if (known !== undefined) return known;
    if (id >= this.nextIds.run || id < 1 || this.#removed.has(id)) return undefined;
    const stored = this.reader.readRun(id);
    if (stored === null) return undefined;
    if (isEnded(stored)) this.#ended.put(stored, 0);
    return stored;
  }

  /** The same for who only looks: one that is not in memory comes without its task runs, of which there may be many. */
  lookAtRun(id: number): Readonly<Run> | undefined {
    const known = this.runs.get(id) ?? this.#ended.get(id);
    if (known !== undefined) return known;
    if (id >= this.nextIds.run || id < 1 || this.#removed.has(id)) return undefined;
    return this.reader.readRun(id, false) ?? undefined;
  }

  /** A backfill, also one whose runs have all ended. */
  findBackfill(id: number): Backfill | undefined {
    const known = this.backfills.get(id);
    if (known !== undefined || id >= this.nextIds.backfill || id < 1) return known;
    const stored = this.reader.readBackfill(id);
    // A deleted flow has taken its backfills along.
    if (stored === null || !this.flows.has(stored.flow_id)) return undefined;
    this.addBackfill(stored);
    return stored;
  }

  /** Takes a backfill in, with the resource its runs go through. */
  addBackfill(backfill: Backfill): void {
    this.backfills.add(backfill);
    this.ledger.setTotal(backfillTag(backfill.id), backfill.concurrency);
  }

  /** A run of a backfill, perhaps of one whose runs had all ended, moves between states by name, see countMove. */
  countInBackfill({ backfill_id }: Run, from: string | null, to: string | null): void {
    const backfill = backfill_id === null ? undefined : this.findBackfill(backfill_id);
    if (backfill !== undefined) countMove(backfill, from, to);
  }

  parametersOf(run: Run): string {
    return run.parametersText ?? this.reader.readParameters(run.id);
  }

  /** An artifact of a run by its external id, as far as it is known or stored. */
  findArtifact(run: Run, externalId: string): { id: number; created_at: number } | null {
    const known = run.artifacts.get(externalId);
    if (known !== undefined || !run.fromStore) return known ?? null;
    return this.reader.findArtifact(run.id, externalId);
  }

  /** The newest run of each flow for a value of the key of a downstream flow, for a step that may change it. */
  keyedRuns(downstreamId: number, value: string, turn: number): Map<number, KeyedRun> {
    const key = `${downstreamId}\n${value}`;
    const known =
      this.#keyedRuns.get(key)?.runs ?? new Map(this.reader.findFanIn(downstreamId, value).map((run) => [run.flow_id, run]));
    // Put last: what was used longest ago is dropped first.
    this.#keyedRuns.delete(key);
    this.#keyedRuns.set(key, { runs: known, turn });
    return known;
  }

  /** The first answer to a request with this Idempotency-Key. */
  answerTo(key: string): StoredAnswer | null {
    const kept = this.#answers.get(key);
    // Once it is committed, the store knows more: the id of an event that is the answer.
    return kept === undefined || kept.turn <= this.committedTurn() ? this.reader.findAnswer(key) : kept.answer;
  }

  /** True when a secret variable is stored or about to be. */
  hasSecrets(): boolean {
    return this.variables.some(({ secret }) => secret) || this.reader.hasSecrets();
  }

  keepAnswer(key: string, answer: StoredAnswer, turn: number): void {
    this.#answers.set(key, { answer, turn });
  }

  /** Moves a run between the unfinished and the ended ones, after its state changed in `turn`. */
  fileRun(run: Run, turn: number): void {
    this.room.count(run);
    if (isEnded(run)) {
      this.runs.delete(run.id);
      this.#ended.put(run, turn);
    } else {
      this.#ended.delete(run.id);
      this.runs.set(run.id, run);
    }
  }

  removeRun(run: Run, turn: number): void {
    this.room.forget(run);
    this.runs.delete(run.id);
    this.#ended.delete(run.id);
    this.#removed.set(run.id, turn);
  }

  /** Ended runs that are still in memory. */
  endedRuns(): Run[] {
    return this.#ended.all();
  }

  /** Parameters above the bound stay in memory only until their run is committed. */
  dropLargeParameters(run: Run, turn: number): void {
    this.#large.push({ run, turn });
  }

  /** Drops what memory need not hold any more, as far as it is committed: large parameters, the oldest ended runs. */
  trim(committedTurn: number): void {
    this.variables.trim(committedTurn);
    this.rules.fired.trim(committedTurn);
    this.rules.chains.trim(committedTurn);
    for (const [key, { turn }] of this.#answers) {
      if (turn > committedTurn) break;
      this.#answers.delete(key);
    }
    for (const [key, { turn }] of this.#keyedRuns) {
      if (this.#keyedRuns.size <= KEYED_VALUES_MAX || turn > committedTurn) break;
      this.#keyedRuns.delete(key);
    }
    for (let first = this.#large[0]; first !== undefined && first.turn <= committedTurn; first = this.#large[0]) {
      first.run.parametersText = null;
      this.#large.shift();
    }
    for (const [id, turn] of this.#removed) {
      if (turn > committedTurn) break;
      this.#removed.delete(id);
    }
    this.#ended.trim(committedTurn);
  }

  /** Remembers which run an answer is about, for the case that it cannot be delivered. */
  rememberCommand(command: number, run: Run): void {
    this.#answered[this.#answeredCount % ANSWERS_REMEMBERED_MAX] = { command, run };
    this.#answeredCount += 1;
  }

  /** The run an answer was about; rarely asked, so it may cost a search. */
  runOfCommand(command: number): Run | undefined {
    return this.#answered.find((answer) => answer.command === command)?.run;
  }

  /** The text of the key of the engines for a flow at a priority. */
  jobKey(flow: Flow): string {
    return engineKeyText({ source_dir: flow.source_dir, module: flow.module, isolated: flow.options.isolated, nice: 0 });
  }

  #forgetUpstreams(flow: Flow): void {
    for (const flows of this.#downstream.values()) flows.delete(flow);
  }
}
