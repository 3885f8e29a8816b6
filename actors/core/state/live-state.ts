/**
 * The live state of the dispatch group: flows, unfinished runs, engines, leases and the queue, in memory.
 *
 * The state is loaded from the store when the group starts, then updated by each decision. The actors of the group share it,
 * run on one thread and are restarted together, so the group is one unit of consistency. Ended runs stay for a while, because
 * engines send a last report after the end; older runs are read from the store when a command names them.
 */

import { PARAMETERS_IN_MEMORY_BYTES_MAX } from "#protocol/limits";
import { UnknownFields } from "#protocol/routes/unknown-fields";
import { assert } from "#runtime/assert";
import type { LoadedRules } from "#storage/load/load-rules";
import { type Backfill, BackfillBook, backfillTag, countMove, type OpenCancel } from "./backfill.ts";
import { ClockWatch } from "./clock-watch.ts";
import { Deadlines } from "./deadlines.ts";
import { DurableBook } from "./durable.ts";
import { EndedRuns } from "./ended-runs.ts";
import { type Engine, type EngineKey, engineKey } from "./engine.ts";
import { concurrencyResource, type Flow, flowKey } from "./flow.ts";
import { FormerProcesses } from "./former-processes.ts";
import { Ledger } from "./ledger.ts";
import type { OpenDeletion } from "./open-deletion.ts";
import { OpenReports } from "./open-reports.ts";
import { type ParkedReader, ParkedRuns } from "./parked-runs.ts";
import { RecentRows } from "./recent-rows.ts";
import { NO_RULES, RuleBook } from "./rule.ts";
import type { Run, RunTexts } from "./run.ts";
import { isEnded } from "./run.ts";
import { RunDurations } from "./run-durations.ts";
import { RunRoom } from "./run-room.ts";
import { ScheduleBook } from "./schedule.ts";
import { WorkQueue } from "./work-queue.ts";

/** Maximum of answers whose run is remembered; an undeliverable answer is reported within moments. */
const ANSWERS_REMEMBERED_MAX = 4096;

/** The first answer to a request with an Idempotency-Key. */
export interface StoredAnswer {
  /** Distinguishes a retry from another request under the same key. */
  fingerprint: string;
  status: number;
  body: AnswerBody;
}

/** The body of an answer: JSON text, or an event, whose id is null until the step that recorded it is committed. */
export type AnswerBody = { kind: "json"; text: string } | { kind: "event"; id: number | null };

/** A run of a flow for one value of a key. */
export interface KeyedRun {
  flow_id: number;
  run_id: number;
  completed: boolean;
}

/** A stored variable: JSON text, or for secrets the sealed form of it. */
export interface StoredVariable {
  value: string;
  secret: boolean;
  tags: readonly string[];
  created_at: number;
}

/** Fan-in values cached in memory; others are read from the store. */
const KEYED_VALUES_MAX = 10_000;

/** Next row ids of the tables that the core numbers. */
export interface NextIds {
  flow: number;
  run: number;
  task_run: number;
  artifact: number;
  lease: number;
  schedule: number;
  backfill: number;
  wait: number;
}

/** Reads from the store that the group needs. */
export interface RunReader extends ParkedReader {
  /** The run, with its task runs unless `withTasks` is false, or null. Only for runs whose last change is committed. */
  readRun(id: number, withTasks?: boolean): Run | null;
  /** Null for an unknown run. */
  readTexts(id: number): RunTexts | null;
  findArtifact(runId: number, externalId: string): { id: number; created_at: number } | null;
  /** A backfill without unfinished runs. */
  readBackfill(id: number): Backfill | null;
  /** The stored fan-in entries for a key value of a downstream flow. */
  findFanIn(downstreamId: number, value: string): KeyedRun[];
  findAnswer(idempotencyKey: string): StoredAnswer | null;
  findVariable(name: string): StoredVariable | null;
  hasSecrets(): boolean;
  hasOldHistory(beforeUs: number, lastEvent: number): boolean;
  runsEndedBefore(beforeUs: number, limit: number): number[];
  endedRunsOf(flowId: number, limit: number): number[];
  /** Runs of a schedule for fires after a time, in any state. */
  runsOfFiresAfter(scheduleId: number, us: number): number[];
  /** Whether a rule has fired for a run, according to the store. */
  hasFired(ruleId: number, runId: number): boolean;
  /** Length of the chain of rules that led to a run, according to the store. */
  chainOf(runId: number): number;
}

/** Configuration of the group; the first three can be changed at run time. */
export interface DispatchSettings {
  crashRetriesDefault: number;
  retainDays: number;
  /** Null: ended runs are kept. */
  readonly retainRunsDays: number | null;
  /** Declared totals of resources. */
  readonly resourceTotals: Map<string, number>;
  readonly emailConfigured: boolean;
  catchupDefault: string;
  /** The time zone of schedules that set none. */
  timezone: string;
  /** False: no schedule fires, because the server exists for one run only. */
  schedulesFire: boolean;
  cancelGraceUs: number;
  /** Runs of a backfill created or cancelled per step, and most runs of a batch read per step; other commands run in between. */
  backfillSliceRuns: number;
  /** Runs of a backfill in the queue beyond its concurrency. */
  backfillNearMax: number;
  /** A crashed run is rerun after a random delay in this range. */
  rerunDelaySeconds: readonly [number, number];
  /** False: the user starts the engines. */
  spawnEngines: boolean;
  /** Maximum of concurrent engines in the pool, and the number of runs after which an engine is replaced. */
  enginesMax: number;
  engineRunsMax: number;
  externalEnginesMax: number;
  unfinishedRunsMax: number;
  /** Maximum of runs that engines hold at a time; null for none. */
  runningMax: number | null;
  /** Waits and retry delays of runs that are longer leave the engine, in seconds. */
  parkAfterSecs: number;
  /** Open waits of parked runs that stay in memory, each run counting as one more. */
  parkedWaitsMax: number;
  /** Patterns of modules, besides those of the bundled engine, for which the pool has a command. */
  enginePatterns: readonly string[];
  /** Host name and boot id, as announced by engines. */
  host: string;
  /** The directory whose code the server can call; null for none. */
  servedDir: string | null;
  /** Part of the ids of spawned engines. */
  serverPid: number;
}

/** An engine process started by the pool. */
export interface PoolEngine {
  id: string;
  key: EngineKey;
  startedUs: number;
  /** The engine has asked for work at least once. */
  polled: boolean;
  /** Id of the engine that was started to replace this one. */
  successor?: string;
  /** The engine has reported that its module cannot be loaded, which explains its end. */
  toldFailure?: true;
}

/** Engines of one key that ended before their first poll. */
export interface FailedStarts {
  count: number;
  /** When the next attempt is allowed. */
  retryUs: number;
  /** How the last engine ended. */
  cause: string | null;
}

/** A job for an engine that is no run. */
export interface EngineJob {
  readonly key: EngineKey;
  /** The answer that hands out the job, as JSON text. */
  itemText: string;
  /** How often the job was given out. */
  tries: number;
  /** The backfill to check; null for other jobs. */
  backfillId: number | null;
  /** The engine that got the job last, and when. */
  engineId: string | null;
  givenUs: number;
}

export class LiveState {
  readonly flows = new Map<number, Flow>();
  /** Unfinished runs, by id, except parked runs that have left memory. */
  readonly runs = new Map<number, Run>();
  readonly room: RunRoom;
  readonly engines = new Map<string, Engine>();
  readonly formerProcesses = new FormerProcesses();
  readonly ledger = new Ledger();
  readonly queue = new WorkQueue();
  readonly deadlines = new Deadlines(() => this.uptimeUs());
  readonly openReports = new OpenReports();
  /** Backfills that are being cancelled, and flows that are being deleted, by id. */
  readonly openCancels = new Map<number, OpenCancel>();
  readonly openDeletions = new Map<number, OpenDeletion>();
  readonly schedules = new ScheduleBook();
  readonly backfills = new BackfillBook();
  /** Engines started by the pool whose process is not gone. */
  readonly pool = new Map<string, PoolEngine>();
  /** By the text of the engine key; cleared when an engine of the key ends after having polled. */
  readonly failedStarts = new Map<string, FailedStarts>();
  /** True once the pool has reported its living engines; before that, no engine is started. */
  poolKnown = false;
  /** Engine keys, by their text, with runs that may lack engines; checked at the end of the step. */
  demand = new Map<string, EngineKey>();
  /** Resources reserved for a run that has waited too long. */
  readonly reservations = new Map<string, Run>();
  /** Runs that became blocked since the last check. */
  readonly newlyBlocked = new Set<Run>();
  /** An engine has left a run, and runs wait for a place among the running ones. */
  placeFreed = false;
  /** Waiting jobs by the text of their engine key; a key without jobs has no entry. */
  readonly jobs = new Map<string, EngineJob[]>();
  readonly rules: RuleBook;
  readonly durable: DurableBook;
  readonly parked: ParkedRuns;
  /** Unknown body fields that were already logged. */
  readonly unknownFields = new UnknownFields();
  readonly variables: RecentRows<string, StoredVariable>;
  readonly nextIds: NextIds;
  readonly settings: DispatchSettings;
  /** Number of the newest step that is committed. */
  committedTurn: () => number = () => 0;
  /** Uptime of the server's process. Never steps, and excludes sleep of the machine. */
  uptimeUs: () => number = () => 0;
  /** Uptime of the machine, including its sleep, by a clock that cannot be set. */
  bootUs: () => number = () => 0;
  clock: ClockWatch;
  /** True once the server is stopping: no run is created, parked polls get LEAVE. */
  stopping = false;
  readonly reader: RunReader;
  durations = new RunDurations();
  readonly spans = { exported: 0, dropped: 0 };
  readonly #flowsByKey = new Map<string, Flow>();
  readonly #downstream = new Map<string, Set<Flow>>();
  readonly #answered: { command: number; run: Run }[] = [];
  #answeredCount = 0;
  readonly #keyedRuns = new Map<string, { runs: Map<number, KeyedRun>; turn: number }>();
  /** Answers under an Idempotency-Key that are not yet known to be committed. */
  readonly #answers = new Map<string, { answer: StoredAnswer; turn: number }>();
  readonly #large: { run: Run; turn: number }[] = [];
  readonly #ended = new EndedRuns();
  /** Runs whose deletion is not committed, so the store still has them. */
  readonly #removed = new Map<number, number>();

  constructor(reader: RunReader, nextIds: NextIds, settings: DispatchSettings, rules: LoadedRules = NO_RULES) {
    this.reader = reader;
    this.rules = new RuleBook({ ...rules, next_ids: { ...rules.next_ids } }, reader);
    this.durable = new DurableBook(reader, () => this.rules.newestEvent, {
      recallLineages: (ids) => this.parked.recallLineages(ids),
      recallWaits: (ids) => this.parked.recallWaits(ids),
      recallCallback: (tokenHash) => this.parked.recallCallback(tokenHash),
    });
    this.variables = new RecentRows((name) => reader.findVariable(name));
    this.nextIds = nextIds;
    this.settings = settings;
    this.room = new RunRoom(settings.unfinishedRunsMax);
    const { runs, room, schedules, durable } = this;
    this.parked = new ParkedRuns({ reader, runs, room, schedules, durable, mostWaits: settings.parkedWaitsMax });
    this.clock = new ClockWatch(null, settings.host);
    for (const [name, total] of settings.resourceTotals) this.ledger.setTotal(name, total);
  }

  flowByName(project: string, name: string): Flow | undefined {
    return this.#flowsByKey.get(flowKey(project, name));
  }

  /** Adds a flow, or applies its changed options. */
  putFlow(flow: Flow): void {
    this.#forgetUpstreams(flow);
    this.flows.set(flow.id, flow);
    this.#flowsByKey.set(flowKey(flow.project, flow.name), flow);
    this.setExclusive(flow);
    if (flow.options.maxConcurrent > 0) this.ledger.setImplied(concurrencyResource(flow), flow.options.maxConcurrent);
    for (const upstream of flow.options.after?.flows ?? []) {
      const key = flowKey(flow.project, upstream);
      const known = this.#downstream.get(key) ?? new Set<Flow>();
      this.#downstream.set(key, known.add(flow));
    }
    for (const affected of [flow, ...this.upstreamOf(flow)]) this.#inheritPriority(affected);
  }

  /** A run that is never repeated may neither end with others nor end them: unless the flow says otherwise, it runs alone. */
  setExclusive(flow: Flow): void {
    const { exclusive, crashRetries } = flow.options;
    flow.exclusive = exclusive ?? (crashRetries ?? this.settings.crashRetriesDefault) === 0;
  }

  /** The registered flows that this flow declares as upstream. */
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

  /** Flows that name this flow as upstream. */
  downstreamOf(flow: Flow): Flow[] {
    return [...(this.#downstream.get(flowKey(flow.project, flow.name)) ?? [])];
  }

  /** A run in any state, or undefined. */
  findRun(id: number): Run | undefined {
    const known = this.#knownRun(id);
    if (known !== undefined) return known;
    const stored = this.#readRun(id, true);
    if (stored !== undefined && isEnded(stored)) this.#ended.put(stored, 0);
    return stored;
  }

  /** Like findRun, read-only: a run that is not in memory is read without its task runs, which may be many. */
  lookAtRun(id: number): Readonly<Run> | undefined {
    const known = this.#knownRun(id);
    if (known !== undefined) return known;
    return this.#readRun(id, false);
  }

  /** All task runs of a run by external id, also those that a park has left in the store. */
  taskRunsOf(run: Run): Run["tasks"] {
    if (run.durable?.partial !== true) return run.tasks;
    return new Map([...(this.#readRun(run.id, true)?.tasks ?? []), ...run.tasks]);
  }

  #readRun(id: number, withTasks: boolean): Run | undefined {
    if (id >= this.nextIds.run || id < 1 || this.#removed.has(id)) return undefined;
    return this.reader.readRun(id, withTasks) ?? undefined;
  }

  #knownRun(id: number): Run | undefined {
    const known = this.runs.get(id) ?? this.#ended.get(id);
    if (known !== undefined) return known;
    this.parked.recall([id]);
    return this.runs.get(id);
  }

  /** A backfill, possibly without unfinished runs. */
  findBackfill(id: number): Backfill | undefined {
    const known = this.backfills.get(id);
    if (known !== undefined || id >= this.nextIds.backfill || id < 1) return known;
    const stored = this.reader.readBackfill(id);
    // Backfills of a deleted flow are deleted too.
    if (stored === null || !this.flows.has(stored.flow_id)) return undefined;
    this.addBackfill(stored);
    return stored;
  }

  /** Adds a backfill, and the resource that limits its runs. */
  addBackfill(backfill: Backfill): void {
    this.backfills.add(backfill);
    this.ledger.setTotal(backfillTag(backfill.id), backfill.concurrency);
  }

  /** Counts a move of a backfill's run between states by name, see countMove; loads the backfill if all its runs had ended. */
  countInBackfill({ backfill_id }: Run, from: string | null, to: string | null): void {
    const backfill = backfill_id === null ? undefined : this.findBackfill(backfill_id);
    if (backfill !== undefined) countMove(backfill, from, to);
  }

  textsOf(run: Run): RunTexts {
    return run.texts ?? this.#readTexts(run);
  }

  /** Canonical JSON text. */
  parametersOf(run: Run): string {
    return this.textsOf(run).parameters;
  }

  tagsOf(run: Run): string[] {
    return JSON.parse(this.textsOf(run).tags) as string[];
  }

  /** An artifact of a run by its external id, from memory or the store. */
  findArtifact(run: Run, externalId: string): { id: number; created_at: number } | null {
    const known = run.artifacts.get(externalId);
    if (known !== undefined || !run.fromStore) return known ?? null;
    return this.reader.findArtifact(run.id, externalId);
  }

  /** The newest run of each flow for a key value of a downstream flow, for a step that may change it. */
  keyedRuns(downstreamId: number, value: string, turn: number): Map<number, KeyedRun> {
    const key = `${downstreamId} ${value}`;
    const known =
      this.#keyedRuns.get(key)?.runs ?? new Map(this.reader.findFanIn(downstreamId, value).map((run) => [run.flow_id, run]));
    // Re-insert at the end: the least recently used entry is evicted first.
    this.#keyedRuns.delete(key);
    this.#keyedRuns.set(key, { runs: known, turn });
    return known;
  }

  /** The first answer to a request with this Idempotency-Key. */
  answerTo(key: string): StoredAnswer | null {
    const kept = this.#answers.get(key);
    // After the commit, read the store: only the store has the id of an event that is the answer.
    return kept === undefined || kept.turn <= this.committedTurn() ? this.reader.findAnswer(key) : kept.answer;
  }

  /** True when a secret variable is stored or about to be. */
  hasSecrets(): boolean {
    return this.variables.some(({ secret }) => secret) || this.reader.hasSecrets();
  }

  keepAnswer(key: string, answer: StoredAnswer, turn: number): void {
    this.#answers.set(key, { answer, turn });
  }

  /** Moves a run between the unfinished and the ended runs, after its state changed in `turn`. */
  fileRun(run: Run, turn: number): void {
    this.room.count(run);
    if (run.durable !== null) this.parked.note(run, turn);
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
    this.parked.forget(run);
    this.runs.delete(run.id);
    this.#ended.delete(run.id);
    this.#removed.set(run.id, turn);
  }

  /** Ended runs that are still in memory. */
  endedRuns(): Run[] {
    return this.#ended.all();
  }

  /** Drops the texts of a run with large parameters from memory once the run is committed. */
  dropTexts(run: Run, turn: number): void {
    this.#large.push({ run, turn });
  }

  /** Evicts committed data that need not stay in memory: large parameters, the oldest ended runs. */
  trim(committedTurn: number): void {
    this.variables.trim(committedTurn);
    this.durable.trim(committedTurn);
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
      first.run.texts = null;
      this.#large.shift();
    }
    for (const [id, turn] of this.#removed) {
      if (turn > committedTurn) break;
      this.#removed.delete(id);
    }
    this.#ended.trim(committedTurn);
  }

  /** Remembers the run of an answer, in case the answer cannot be delivered. Only the newest answer about a run counts. */
  rememberCommand(command: number, run: Run): void {
    run.lastCommand = command;
    this.#answered[this.#answeredCount % ANSWERS_REMEMBERED_MAX] = { command, run };
    this.#answeredCount += 1;
  }

  /** The runs of an answer that no later answer concerns; rarely needed, so a search is acceptable. */
  runsOfCommand(command: number): Run[] {
    return this.#answered.flatMap(({ command: of, run }) => (of === command && run.lastCommand === command ? [run] : []));
  }

  /** The engine key for jobs of a flow. */
  jobKey({ source_dir, module, options }: Flow): EngineKey {
    return engineKey({ source_dir, module, isolated: options.isolated, nice: 0 });
  }

  /** The room counts texts without large parameters, so these may stay in memory. */
  #readTexts(run: Run): RunTexts {
    const texts = this.reader.readTexts(run.id);
    assert(texts !== null, `the store has no run ${run.id}`);
    if (texts.parameters.length <= PARAMETERS_IN_MEMORY_BYTES_MAX) run.texts = texts;
    return texts;
  }

  #forgetUpstreams(flow: Flow): void {
    for (const flows of this.#downstream.values()) flows.delete(flow);
  }
}
