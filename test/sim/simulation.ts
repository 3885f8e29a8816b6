/**
 * One seed: the whole system with its engines and users, first under faults, then without until everything has ended.
 * Everything that varies follows from the seed, so failures are reproducible.
 */
import type { EngineKeyFields } from "#actors/core/state/engine";
import type { DispatchSettings } from "#actors/core/state/live-state";
import { GATEWAY, RECORDS, STORE_WRITER } from "#actors/names";
import type { DeliveryRequest } from "#actors/rule-engine/rule-messages";
import { isTerminal } from "#protocol/records/state";
import type { Committed, FeedMessage } from "#protocol/wire/feed";
import type { ActorSpec } from "#runtime/actor";
import type { CommitRequest, CommitResult, Owner } from "#storage/port";
import { runQuery } from "#storage/queries/named";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { BackfillChecker } from "./checkers/backfills.ts";
import { CapacityChecker } from "./checkers/capacity.ts";
import { type Answer, type Checker, readOperations } from "./checkers/checker.ts";
import { DurableChildrenChecker } from "./checkers/durable-children.ts";
import { DurableStepsChecker } from "./checkers/durable-steps.ts";
import { DurableWaitsChecker } from "./checkers/durable-waits.ts";
import { ExchangesChecker } from "./checkers/exchanges.ts";
import { ExclusiveChecker } from "./checkers/exclusive.ts";
import { ExpectationsChecker } from "./checkers/expectations.ts";
import { type CommittedBackfill, type CommittedRun, History } from "./checkers/history.ts";
import { HoldingChecker } from "./checkers/holding.ts";
import { MovesChecker } from "./checkers/moves.ts";
import { NumberingChecker } from "./checkers/numbering.ts";
import { OnceChecker } from "./checkers/once.ts";
import { ProcessesChecker } from "./checkers/processes.ts";
import { checkReload } from "./checkers/reload.ts";
import { RerunsChecker } from "./checkers/reruns.ts";
import { RetentionChecker } from "./checkers/retention.ts";
import { RuleHistory } from "./checkers/rule-history.ts";
import { RulesChecker } from "./checkers/rules.ts";
import { ScheduleChecker } from "./checkers/schedules.ts";
import { StoreChecker } from "./checkers/store.ts";
import { VisibilityChecker } from "./checkers/visibility.ts";
import { Coverage, type CoverageCounts, type DurableFeature } from "./coverage.ts";
import type { CoursePorts } from "./durable-course.ts";
import type { EngineProcess, EngineTraits } from "./engine-process.ts";
import { type Fault, isCountedLater, type PlannedFault, planFaults } from "./fault-plan.ts";
import { LateRequests } from "./late-requests.ts";
import { ModelEngine } from "./model-engine.ts";
import { ModelGateway, type Outcome, type Pending, type Request } from "./model-gateway.ts";
import { ModelOutside } from "./model-outside.ts";
import { ENGINE_KEYS, FLOW_REGISTRATION, ModelPeople, registrationOf, TOTALS } from "./model-people.ts";
import { declaredSchedules, ModelPlanners } from "./model-planners.ts";
import { ModelProcesses, type ProcessWatch } from "./model-processes.ts";
import { ModelRuleMakers } from "./model-rule-makers.ts";
import { ModelSlotEngine } from "./model-slot-engine.ts";
import type { Mutation } from "./mutation-tools.ts";
import { openWaitsOf, seenByPeople } from "./people-ports.ts";
import { poisonEvents } from "./poisoned-events.ts";
import { Random } from "./random.ts";
import { SimulatedDisk } from "./simulated-disk.ts";
import { type Choice, SimulatedServer, type Surroundings, THROWING } from "./simulated-server.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { StoreFaults } from "./store-faults.ts";
import { summaryOf, Trace, Violation } from "./trace.ts";

const HOST = "here";
const SERVER_PID = 1000;
/** Engines of the pool that accept runs. */
const ENGINES_MAX = 4;
/** Commits between two checks of the whole store. */
const LOOK_EVERY = 60;
/** Time to come to rest after the faults: reruns, long-polls, silences and chains of sleeps take time. */
const REST_US = 600_000_000;
/** Interval of the checks whether everything has ended. */
const REST_LOOK_US = 2_000_000;
/** Every so many of these, the store is looked at too, although there may have been no commit. */
const LOOK_EVERY_RESTS = 5;
/** A seed that handles more messages than this after the faults loops endlessly. */
const REST_MESSAGES_MAX = 150_000;

/** Runs created at once in some seeds. */
const THRONG_RUNS = 220;
/** Runs that an engine executes side by side in such seeds. */
const THRONG_SLOTS = 200;
/** Rows of a page of steps or waits: small, so that runs read several. */
const STEPS_READ = 3;

const HOUR_US = 3_600_000_000;
/** Faults that only affect the wall clock. */
const CLOCK_STEPS: Partial<Record<Fault, number>> = {
  "clock steps 5 s forward": 5_000_000,
  "clock steps 5 s back": -5_000_000,
  "clock steps 1 h forward": HOUR_US,
  "clock steps 1 h back": -HOUR_US,
  "clock steps 1 day forward": 24 * HOUR_US,
  "clock steps 1 day back": -24 * HOUR_US,
};

export interface SeedOptions {
  seed: number;
  /** Messages handled under faults. */
  messages: number;
  mutation: Mutation | null;
  /** Replaces the faults drawn from the seed; rules then always exist. */
  faults?: readonly PlannedFault[];
  echo: ((line: string) => void) | null;
  /** Sees the store at the end of the simulation. */
  inspect?(database: Database): Promise<void>;
}

export interface SeedResult {
  seed: number;
  messages: number;
  digest: number;
  coverage: CoverageCounts;
  violation: { rule: string; message: string; step: number; trace: readonly string[] } | null;
}

/** Runs one seed to its end or to its first violation. */
export async function runSeed(options: SeedOptions): Promise<SeedResult> {
  const simulation = new Simulation(options);
  const result = (violation: SeedResult["violation"]): SeedResult => {
    const { coverage, messages, trace } = simulation;
    return { seed: options.seed, messages, digest: trace.digest, coverage, violation };
  };
  try {
    await simulation.run();
    await options.inspect?.(simulation.disk.database);
    return result(null);
  } catch (cause) {
    const rule = cause instanceof Violation ? cause.rule : "no defects";
    const message = cause instanceof Violation ? cause.message : String(cause instanceof Error ? cause.stack : cause);
    return result({ rule, message, step: simulation.messages, trace: [...simulation.trace.lines] });
  } finally {
    simulation.close();
  }
}

class Simulation {
  readonly coverage = new Coverage();
  readonly trace: Trace;
  readonly #options: SeedOptions;
  readonly #random: Random;
  readonly #time = new SimulatedTime();
  readonly disk = new SimulatedDisk();
  readonly #storeFaults: StoreFaults;
  readonly #history = new History();
  readonly #requests = new Map<number, Request>();
  readonly #capacity: CapacityChecker;
  readonly #exchanges: ExchangesChecker;
  readonly #engines: ProcessesChecker;
  readonly #checkers: readonly Checker[];
  readonly #processes: ModelProcesses;
  readonly #lateRequests = new LateRequests({
    time: this.#time,
    gateway: () => this.#gateway,
    submit: (request, settled) => this.#submit(request, settled),
    reached: (feature) => this.coverage.exchange(feature),
  });
  readonly #people: ModelPeople;
  readonly #ruleMakers: ModelRuleMakers;
  readonly #ruleHistory = new RuleHistory();
  readonly #rules: RulesChecker;
  readonly #durableSteps: DurableStepsChecker;
  readonly #expectations: ExpectationsChecker;
  readonly #outside: ModelOutside;
  /** Retention days of events and log lines: sometimes short enough to expire within the simulation. */
  readonly #retainDays: number;
  /** Pending failures of reader requests. */
  #failingReads = 0;
  #planned: PlannedFault[];
  readonly #spawns: boolean;
  /** Share of the engines that exchange. */
  readonly #exchanging: number;
  /** Whether engines get as many runs as one can hold. */
  readonly #isThronged: boolean;
  readonly #keepsRules: boolean;
  /** Whether there are runs of durable flows. */
  readonly #isDurable: boolean;
  readonly #planners: ModelPlanners;
  /** Whether there are schedules and backfills. */
  readonly #plans: boolean;
  /** Reruns of flows that set no limit. */
  readonly #crashRetriesDefault: number;
  /** Whether every server process has the same process id, as in a container. */
  readonly #isPidKept: boolean;
  #starts = 0;
  #server: SimulatedServer;
  #gateway: ModelGateway;
  #nextCommand = 1;
  #nextEngine = 1;
  /** Ends now, and its user starts the next process at once. */
  #beingReplaced: EngineProcess | null = null;
  #handledBefore = 0;
  #sinceLook = 0;
  #calm = false;
  /** A violation found in a callback, kept here because the server would take it for a defect of its own. */
  #violation: Violation | null = null;
  #restart = false;
  /** The event that makes the rule engine throw each time; 0 for none. */
  #poison = 0;
  readonly #restorePoison = poisonEvents(() => this.#poison);

  constructor(options: SeedOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.trace = new Trace(() => this.#time.monotonicUs(), options.echo);
    const places = { disk: this.disk, time: this.#time, random: this.#random, trace: this.trace, coverage: this.coverage };
    this.#storeFaults = new StoreFaults({
      ...places,
      isFenced: () => this.#server.isFenced,
      violated: (violation) => {
        this.#violation ??= violation;
      },
      restart: () => {
        this.#restart = true;
      },
    });
    this.#crashRetriesDefault = this.#random.pick([0, 1, 2]);
    this.#isPidKept = this.#random.chance(0.3);
    this.#capacity = new CapacityChecker(TOTALS, this.#requests);
    this.#exchanges = new ExchangesChecker(this.#requests);
    this.#engines = new ProcessesChecker(this.#history, ENGINES_MAX, (pid) => this.#processes.isAlive(pid));
    this.#rules = new RulesChecker(this.#ruleHistory);
    this.#expectations = new ExpectationsChecker(this.#ruleHistory, this.#time);
    this.#durableSteps = new DurableStepsChecker(this.#history, this.coverage);
    this.#checkers = [
      new MovesChecker(this.coverage),
      new HoldingChecker(this.#requests),
      this.#exchanges,
      this.#engines,
      new ExclusiveChecker(this.coverage, this.#crashRetriesDefault),
      new RerunsChecker(this.coverage, this.#crashRetriesDefault),
      this.#capacity,
      new NumberingChecker(),
      new VisibilityChecker(this.#time),
      new OnceChecker(),
      this.#ruleHistory,
      this.#rules,
      this.#expectations,
      new ScheduleChecker(this.#time, this.#requests),
      new BackfillChecker(),
      new StoreChecker(this.disk),
      new RetentionChecker(this.#time),
      this.#durableSteps,
      new DurableWaitsChecker(this.#time, this.#requests, this.coverage),
      new DurableChildrenChecker(this.coverage),
    ];
    this.#spawns = this.#random.chance(0.5);
    this.#keepsRules = this.#random.chance(0.7) || options.faults !== undefined;
    this.#plans = this.#random.chance(0.6);
    this.#isDurable = this.#random.chance(0.6);
    this.#exchanging = this.#random.pick([0, 0.5, 0.7, 1]);
    this.#isThronged = this.#exchanging > 0 && this.#random.chance(0.25);
    const drawn = planFaults(this.#random, options.messages);
    this.#planned = options.faults === undefined ? drawn : [...options.faults];
    this.#processes = new ModelProcesses(this.#time, this.#processWatch(), (id, key, pid) => this.#spawn(id, key, pid));
    this.#people = this.#newPeople();
    this.#planners = this.#newPlanners();
    this.#ruleMakers = new ModelRuleMakers({
      time: this.#time,
      random: this.#random,
      submit: (request, settled) => this.#submit(request, settled),
      rules: () => [...this.#ruleHistory.rules.keys()],
      newestSchedule: () => Math.max(1, ...this.#history.schedulesEver),
      calm: () => this.#calm,
    });
    const left = (request: DeliveryRequest): void => this.#watch(() => this.#rules.left(request));
    this.#outside = new ModelOutside(this.#time, this.#random, () => this.#calm, left);
    this.#retainDays = this.#random.pick([30, 30, 0.0003]);
    [this.#server, this.#gateway] = this.#startProcess();
  }

  /** An engine of the pool; some do not start. */
  #spawn(id: string, key: EngineKeyFields, pid: number): EngineProcess | null {
    if (!this.#calm && this.#random.chance(0.1)) return null;
    const obedient = this.#random.chance(0.8);
    return this.#engine({ id, pid, key, spawned: true, leases: true, remote: false, obedient, slots: this.#drawSlots(key) });
  }

  #processWatch(): ProcessWatch {
    return {
      started: (id, living) => this.#watch(() => this.#engines.started(id, living)),
      signalled: (engine) => this.#watch(() => this.#engines.signalled(engine)),
    };
  }

  #newPeople(): ModelPeople {
    return new ModelPeople({
      time: this.#time,
      random: this.#random,
      submit: (request, settled) => this.#submit(request, settled),
      ...seenByPeople(this.#history),
      calm: () => this.#calm,
      durable: this.#isDurable,
    });
  }

  #newPlanners(): ModelPlanners {
    return new ModelPlanners({
      time: this.#time,
      random: this.#random,
      submit: (request, settled) => this.#submit(request, settled),
      newestFlow: () => this.#history.newestFlow,
      schedules: () => [...this.#history.schedules.values()],
      backfills: () => [...this.#history.backfills.values()],
      orphans: () => [...this.#history.runs.values()].filter((run) => this.#isOrphan(run)).map((run) => run.id),
      calm: () => this.#calm,
    });
  }

  /** Messages handled so far. */
  get messages(): number {
    return this.#handledBefore + this.#server.handled;
  }

  async run(): Promise<void> {
    this.#addEngines();
    this.#people.begin();
    if (this.#plans) this.#planners.begin();
    if (this.#keepsRules) this.#ruleMakers.begin();
    if (this.#isThronged) this.#time.after(this.#random.between(0, 2_000_000), () => this.#people.throng(THRONG_RUNS));
    while (this.messages < this.#options.messages) {
      this.#commitFaults();
      await this.#step();
    }
    this.#stopFaults();
    await this.#comeToRest();
  }

  close(): void {
    this.#restorePoison();
    this.#server.kill();
    this.disk.close();
  }

  async #step(): Promise<void> {
    this.#time.advance(this.#random.between(1, 400));
    const choices = this.#server.choices();
    const nowAndThen = this.#time.isDue();
    if (choices.length === 0 && !nowAndThen) this.#wait();
    else if (nowAndThen && (choices.length === 0 || this.#random.chance(0.4))) this.#time.keepAppointment();
    else this.#take(choices);
    if (this.#server.pending > 0) await new Promise((resolve) => setImmediate(resolve));
    if (this.#violation !== null) throw this.#violation;
    if (this.#restart) this.#restartProcess("its tree gave up, or another process owned the store");
  }

  #take(choices: readonly Choice[]): void {
    const choice = this.#random.pick(choices);
    if (choice.what !== "link") this.trace.add(`step ${choice.what}`);
    choice.take();
  }

  /** No step is possible now: ends turns, then advances time until something is due. */
  #wait(): void {
    this.#server.flush();
    this.#lookAround();
    if (this.#server.choices().length > 0) return;
    const dueUs = this.#time.nextDueUs();
    if (dueUs !== null) this.#time.advance(Math.max(0, dueUs - this.#time.monotonicUs()));
  }

  /** Checks the store after some commits; when everything is committed, compares a reload with the live state. */
  #lookAround(): void {
    if (this.#sinceLook < LOOK_EVERY || this.#server.pending > 0) return;
    this.#sinceLook = 0;
    this.#look();
  }

  #look(): void {
    for (const checker of this.#checkers) checker.look?.(this.#history);
    const { group } = this.#server;
    this.#server.flush();
    const isCommitted = this.#server.isSettled && this.disk.refusal === null;
    if (isCommitted && group?.state) checkReload(this.disk, group.state, this.#time.nowUs());
  }

  #startProcess(): [SimulatedServer, ModelGateway] {
    this.#starts += 1;
    for (const checker of this.#checkers) checker.processStarted?.();
    let server: SimulatedServer | null = null;
    const gateway = new ModelGateway({
      time: this.#time,
      trace: this.trace,
      send: (to, message) => server?.sendFrom("gateway", to, message),
      tellWriter: (message) => server?.sendFrom("gateway", STORE_WRITER, message),
      nextId: () => {
        this.#nextCommand += 1;
        return this.#nextCommand;
      },
      fed: (message) => this.#fed(message),
      answered: (pending, status, body) => this.#answered(pending, status, body),
      reloaded: () => {
        for (const checker of this.#checkers) checker.reloaded?.();
      },
      undelivered: ({ kind }) => {
        if (kind === "Exchange") this.coverage.exchange("an answer is lost after its exchange was applied");
      },
    });
    const actor: ActorSpec = {
      name: GATEWAY,
      start: () => ({ receive: (message) => gateway.receive(message as FeedMessage) }),
    };
    server = new SimulatedServer(this.#surroundings(actor, (to, message) => server?.sendFrom("main", to, message)));
    server.committedFault = (fault) => this.coverage.fault(fault);
    server.begin();
    const options = { schedules: this.#plans ? declaredSchedules(this.#random, this.#time.nowUs()) : [] };
    const flows = [{ ...FLOW_REGISTRATION, flow: "declared", module: "a.ts", options }];
    server.sendFrom("main", RECORDS, { kind: "RegisterFlows", flows, gone: [], errors: [] });
    return [server, gateway];
  }

  #surroundings(gateway: ActorSpec, tell: (to: string, message: unknown) => void): Surroundings {
    return {
      time: this.#time,
      random: this.#random,
      disk: this.disk,
      trace: this.trace,
      gateway,
      engineProcesses: this.#processes.actor(tell),
      outside: this.#outside,
      readingFails: () => {
        if (this.#failingReads === 0) return false;
        this.#failingReads -= 1;
        this.coverage.fault("reading fails");
        return true;
      },
      settings: () => this.#settings(),
      isAlive: (pid) => this.#processes.isAlive(pid),
      committed: (request, result, owner) => this.#watch(() => this.#committed(request, result, owner)),
      takeCommitFault: () => this.#storeFaults.takeCommitFault(),
      hasDefect: (request) => this.#storeFaults.hasDefect(request),
      mutation: this.#options.mutation,
      gaveUp: (error) => {
        if (this.#calm && !isLateFault(error))
          this.#violation ??= new Violation("the tree holds", `it gave up without a fault: ${error.message}`);
        this.#restart = true;
      },
      restarted: (names, error) => {
        this.trace.add(`supervisor: ${names.join(", ")} restarted`);
        if (this.#calm && !isLateFault(error))
          this.#violation ??= new Violation("no defects", `${names[0]} was restarted without a fault: ${error.message}`);
      },
      coreStarted: () => {
        for (const checker of this.#checkers) checker.coreStarted?.();
      },
      sends: (message, server) => this.#options.mutation?.sends?.(message, server) ?? true,
      defect: (name, error) => {
        this.#violation ??= new Violation("no defects", `${name} failed: ${error.stack ?? error.message}`);
      },
    };
  }

  #settings(): DispatchSettings {
    return {
      crashRetriesDefault: this.#crashRetriesDefault,
      retainDays: this.#retainDays,
      retainRunsDays: null,
      resourceTotals: new Map(Object.entries(TOTALS)),
      emailConfigured: true,
      catchupDefault: "latest",
      timezone: "UTC",
      schedulesFire: true,
      cancelGraceUs: 2_000_000,
      backfillSliceRuns: 4,
      backfillNearMax: 2,
      rerunDelaySeconds: [0.2, 1],
      spawnEngines: this.#spawns,
      enginesMax: ENGINES_MAX,
      engineRunsMax: 20,
      externalEnginesMax: 1000,
      unfinishedRunsMax: 100_000,
      runningMax: null,
      parkAfterSecs: 5,
      parkedWaitsMax: 4,
      enginePatterns: [],
      host: HOST,
      servedDir: null,
      serverPid: this.#isPidKept ? SERVER_PID : SERVER_PID + this.#starts,
    };
  }

  #addEngines(): void {
    if (this.#spawns) return;
    for (const key of ENGINE_KEYS) {
      for (let count = this.#random.between(1, 2); count > 0; count -= 1) this.#addEngine(key);
    }
  }

  /** An engine started by a user. */
  #addEngine(key: EngineKeyFields): void {
    const random = this.#random;
    const id = `x${this.#nextEngine}`;
    this.#nextEngine += 1;
    const slots = this.#drawSlots(key);
    const leases = slots > 0 || random.chance(0.6);
    const remote = leases && random.chance(0.3);
    this.#begin({ id, pid: this.#processes.takePid(), key, spawned: false, leases, remote, obedient: random.chance(0.8), slots });
  }

  #begin(traits: EngineTraits): EngineProcess {
    const engine = this.#engine(traits);
    this.#processes.add(engine);
    engine.begin();
    return engine;
  }

  /** How many runs an engine executes side by side; 0 for an engine that polls. */
  #drawSlots({ isolated }: EngineKeyFields): number {
    if (!this.#random.chance(this.#exchanging)) return 0;
    if (isolated) return 1;
    return this.#isThronged ? THRONG_SLOTS : this.#random.pick([1, 3, 8, 40]);
  }

  /** A user starts another engine after a while, sometimes under the same name. */
  #startAnother({ traits }: EngineProcess): void {
    const isAgain = traits.slots > 0 && this.#random.chance(0.4);
    if (isAgain) this.#comeBack(traits);
    else this.#addEngine(traits.key);
  }

  #comeBack(traits: EngineTraits): void {
    this.coverage.exchange("an engine comes back as another process");
    this.#lateRequests.replaced(traits, this.#begin({ ...traits, pid: this.#processes.takePid() }));
  }

  #replaceAtOnce(engine: EngineProcess): void {
    this.#beingReplaced = engine;
    engine.die("another process takes its name");
    this.#beingReplaced = null;
    this.#comeBack(engine.traits);
  }

  #engine(traits: EngineTraits): EngineProcess {
    this.#engines.begun(traits);
    const Model = traits.slots > 0 ? ModelSlotEngine : ModelEngine;
    return new Model(traits, {
      time: this.#time,
      random: this.#random,
      trace: this.trace,
      host: HOST,
      submit: (request, settled) => this.#lateRequests.submit(traits, request, settled),
      leave: (pending) => this.#gateway.leave(pending),
      calm: () => this.#calm,
      proposed: (from, to) => this.coverage.cell(from, to),
      newestRun: () => this.#history.newestRun,
      reached: (feature) => this.coverage.exchange(feature),
      ...this.#durablePorts(),
      ended: (engine) => {
        this.#processes.ended(engine);
        this.#exchanges.engineEnded(engine.traits.id, engine.traits.pid);
        if (engine.traits.spawned || engine === this.#beingReplaced) return;
        this.#time.after(this.#random.delayUs(500_000), () => this.#startAnother(engine));
      },
    });
  }

  #durablePorts(): Omit<CoursePorts, "time" | "random"> & { reachedDurable(feature: DurableFeature): void } {
    return {
      salt: this.#options.seed,
      readPage: (query, id, after) => {
        const page = { id, query: { after, limit: STEPS_READ } };
        return runQuery(new Statements(this.disk.database), query, page);
      },
      durable: {
        replayed: (item, found) => this.#watch(() => this.#durableSteps.replayed(item, found)),
        acknowledged: (item, identity, value) => this.#watch(() => this.#durableSteps.acknowledged(item, identity, value)),
      },
      registrationOf,
      reachedDurable: (feature) => this.coverage.durableRun(feature),
    };
  }

  #submit(request: Request, settled: (outcome: Outcome) => void): Pending | null {
    const id = this.#nextCommand + 1;
    this.#requests.set(id, request);
    this.#capacity.changing(id, request);
    for (const checker of this.#checkers) checker.submitted?.(id, request);
    return this.#gateway.submit(request, settled);
  }

  /** Checkers run inside the server's steps; their errors must not be taken for a defect of an actor. */
  #watch(check: () => void): void {
    try {
      check();
    } catch (cause) {
      this.#violation ??=
        cause instanceof Violation ? cause : new Violation("checkers work", String(cause instanceof Error ? cause.stack : cause));
    }
  }

  #committed(request: CommitRequest, result: CommitResult, owner: Owner): void {
    const { batch } = request;
    this.#storeFaults.check(request, owner);
    this.#sinceLook += 1;
    const commit = { batch, result, operations: readOperations(batch.ops) };
    for (const checker of this.#checkers) checker.commit?.(commit, this.#history);
    for (const operation of commit.operations) {
      this.coverage.operation(operation.name);
      for (const checker of this.#checkers) checker.operation?.(operation, this.#history);
      this.#history.fold(operation);
    }
    for (const checker of this.#checkers) checker.afterCommit?.(commit, this.#history);
    this.trace.add(`commit ${batch.number}: ${summaryOf(commit.operations)}`);
  }

  #fed(message: Committed): void {
    this.#watch(() => {
      for (const checker of this.#checkers) checker.fed?.(message, this.#history);
    });
  }

  #answered(pending: Pending, status: number, body: string | null): void {
    this.coverage.answer(pending.kind, status);
    this.trace.add(`answer ${pending.id} ${pending.kind} ${pending.target || ""}: ${status} ${(body ?? "").slice(0, 60)}`);
    const answer: Answer = { id: pending.id, request: pending, status, body };
    this.#watch(() => {
      for (const checker of this.#checkers) checker.answered?.(answer, this.#history);
    });
  }

  #commitFaults(): void {
    if ((this.#planned[0]?.at ?? Number.POSITIVE_INFINITY) > this.messages) return;
    const due = this.#planned.filter(({ at }) => at <= this.messages);
    const later = this.#planned.slice(due.length);
    // Faults without an opportunity are tried again.
    this.#planned = [...due.filter(({ fault }) => !this.#commitFault(fault)), ...later];
  }

  /** False when there is currently no opportunity. */
  #commitFault(fault: Fault): boolean {
    const done = this.#tryFault(fault);
    if (done && THROWING[fault] === undefined && !isCountedLater(fault)) {
      this.trace.add(`fault: ${fault}`);
      this.coverage.fault(fault);
    }
    return done;
  }

  #tryFault(fault: Fault): boolean {
    const random = this.#random;
    const actor = THROWING[fault];
    if (actor !== undefined) {
      return this.#server.arm(actor, fault);
    }
    const done = this.#storeFaults.commit(fault);
    if (done !== null) return done;
    switch (fault) {
      case "core thread ends":
        return this.#server.endThread("core");
      case "core thread ends while a backfill is cancelled":
        return [...this.#history.backfills.values()].some(isBeingCancelled) && this.#server.endThread("core");
      case "writer thread ends":
        return this.#server.endThread("writer");
      case "process restarts":
        this.#restartProcess("fault");
        return true;
      case "reading fails":
        this.#failingReads += 1;
        return true;
      case "event crashes the rules":
        this.#poison = this.#ruleHistory.events.length + random.between(1, 20);
        return this.#keepsRules;
      case "link stalls":
        this.#server.stall(this.#time.monotonicUs() + random.between(10_000, 3_000_000));
        return true;
      case "client leaves": {
        const waiting = this.#gateway.waiting;
        if (waiting.length > 0) this.#gateway.leave(random.pick(waiting));
        return waiting.length > 0;
      }
      case "request is sent twice": {
        const sent = this.#gateway.waiting.filter((pending) => pending.kind !== "Report" && pending.kind !== "TransitionRun");
        if (sent.length > 0) this.#submit({ ...requestOf(random.pick(sent)) }, () => undefined);
        return sent.length > 0;
      }
      default:
        return this.#tryFaultOutside(fault);
    }
  }

  #tryFaultOutside(fault: Fault): boolean {
    const random = this.#random;
    const { engines } = this.#processes;
    const busy = engines.filter((engine) => engine.runs > 0);
    switch (fault) {
      case "engine process ends":
        if (engines.length > 0) random.pick(busy.length > 0 ? busy : engines).die("fault");
        return engines.length > 0;
      case "engine with most runs ends": {
        const fullest = busy.toSorted((a, b) => b.runs - a.runs)[0];
        if (fullest === undefined || fullest.runs < (this.#isThronged ? THRONG_SLOTS / 2 : 2)) return false;
        fullest.die(fault);
        return true;
      }
      case "engine is replaced at once": {
        const replaceable = busy.filter(({ traits }) => !traits.spawned && traits.slots > 0);
        if (replaceable.length > 0) this.#replaceAtOnce(random.pick(replaceable));
        return replaceable.length > 0;
      }
      case "engine is silent":
        if (busy.length > 0) random.pick(busy).beSilent(random.between(1_000_000, 45_000_000));
        return busy.length > 0;
      case "clock is a day ahead for a while":
        this.#time.stepWallClock(24 * HOUR_US);
        this.#time.after(random.between(500_000, 5_000_000), () => {
          this.#time.stepWallClock(-24 * HOUR_US);
          if (this.#plans) this.#time.after(random.between(500_000, 5_000_000), () => this.#planners.acceptClock());
        });
        return true;
      case "machine sleeps 8 h":
        this.#time.sleep(8 * HOUR_US);
        return true;
      default: {
        const stepUs = CLOCK_STEPS[fault];
        if (stepUs === undefined) throw new Error(`no way to commit "${fault}"`);
        this.#time.stepWallClock(stepUs);
        return true;
      }
    }
  }

  #isOrphan({ schedule, fire, type }: CommittedRun): boolean {
    if (schedule === null || fire === null || type !== "Scheduled") return false;
    const row = this.#history.schedules.get(schedule);
    return row === undefined ? fire > this.#time.nowUs() : !row.active && fire > row.consumedUntil;
  }

  #restartProcess(why: string): void {
    this.#restart = false;
    this.trace.add(`process restarts: ${why}`);
    this.#handledBefore += this.#server.handled;
    if (this.#isPidKept) this.#endContainer();
    this.#server.kill();
    this.#gateway.kill();
    for (const checker of this.#checkers) checker.look?.(this.#history);
    [this.#server, this.#gateway] = this.#startProcess();
  }

  /** Where the next server gets the process id of the former one, no engine beside it outlives the former one. */
  #endContainer(): void {
    for (const engine of this.#processes.engines) if (!engine.traits.remote) engine.die("its container ends");
  }

  #stopFaults(): void {
    this.trace.add("faults stop");
    // Actors that were to throw but had no opportunity.
    this.#server.calm();
    this.#storeFaults.calm();
    this.#failingReads = 0;
    this.#poison = 0;
    this.#calm = true;
  }

  /** Liveness: everything begun ends, every request is answered, and all resources are returned. */
  async #comeToRest(): Promise<void> {
    const untilUs = this.#time.monotonicUs() + REST_US;
    const mostMessages = this.messages + REST_MESSAGES_MAX;
    let lookUs = this.#time.monotonicUs();
    let rests = 0;
    for (;;) {
      await this.#step();
      if (this.#time.monotonicUs() < lookUs) continue;
      lookUs = this.#time.monotonicUs() + REST_LOOK_US;
      rests += 1;
      if (rests % LOOK_EVERY_RESTS === 0) for (const checker of this.#checkers) checker.look?.(this.#history);
      const unfinished = this.#unfinished();
      if (unfinished === null) break;
      if (this.#time.monotonicUs() > untilUs || this.messages > mostMessages) throw new Violation("everything ends", unfinished);
    }
    for (const checker of this.#checkers) checker.atRest?.(this.#history);
    this.#look();
  }

  #unfinished(): string | null {
    const run = [...this.#history.runs.values()].find(({ type }) => !isTerminal(type) && type !== "Paused");
    if (run !== undefined)
      return `run ${run.id} of flow ${this.#history.flows.get(run.flow)?.key} is ${run.type} ${run.name} (engine ${run.engine}, assignment ${run.assignment}${openWaitsOf(this.#history, run.id)})`;
    const lease = [...this.#history.leases.values()][0];
    if (lease !== undefined) return `lease ${lease.id} of run ${lease.run} holds ${JSON.stringify(lease.resources)}`;
    const request = this.#gateway.unanswered[0];
    if (request !== undefined) return `command ${request.id} ${request.kind} has no answer`;
    return (
      this.#rules.unfinished ?? this.#expectations.unfinished ?? (this.#server.pending > 0 ? "a restart is under way" : null)
    );
  }
}

function isBeingCancelled({ cancelledThrough }: CommittedBackfill): boolean {
  return cancelledThrough !== null;
}

function requestOf({ kind, target, target_name, body, waitUs, local, idempotency, traceparent }: Pending): Request {
  const named = { ...(target_name !== undefined && { target_name }), ...(traceparent !== undefined && { traceparent }) };
  return { kind, target, ...named, body, waitUs, local, ...(idempotency === undefined ? {} : { idempotency }) };
}

/** A busy supervisor may report a fault only after the faults have stopped, and so may a refusing store. */
function isLateFault({ message }: Error): boolean {
  return /simulated|taken over the store|^thread \w+ ended$|^the store takes writes again$|is given up$/.test(message);
}
