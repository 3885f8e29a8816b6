/**
 * The dispatch group without threads, store or clock: commands go in, readable decisions come out.
 *
 * Messages between the actors are delivered before `send` returns; timers fire in `pass`. Orders for engine processes are
 * collected. A stub replaces the store, unless a test brings one (stored-kit.ts); the stub knows the runs that a test adds. As
 * nothing is loaded, the kit makes the actors itself, and not by actors/dispatch-group/dispatch-group.ts, which starts with both.
 */

import type { GroupPorts } from "#actors/core/ports";
import type { Secrets } from "#actors/core/secrets";
import type { Backfill } from "#actors/core/state/backfill";
import type { StoredWait } from "#actors/core/state/durable";
import { storedEngine } from "#actors/core/state/engine";
import type { Flow } from "#actors/core/state/flow";
import { type DispatchSettings, LiveState, type RunReader, type StoredAnswer } from "#actors/core/state/live-state";
import type { Run } from "#actors/core/state/run";
import { epochOf, type GroupMessage } from "#actors/dispatch-group/group-messages";
import { resume } from "#actors/dispatch-group/load";
import { Dispatcher } from "#actors/dispatcher/dispatcher";
import type { DispatcherMessage } from "#actors/dispatcher/dispatcher-messages";
import type { EngineProcessesMessage } from "#actors/engine-processes/engine-process-messages";
import { LeaseManager } from "#actors/lease-manager/lease-manager";
import {
  COMMITS,
  DISPATCHER,
  ENGINE_PROCESSES,
  LEASE_MANAGER,
  OUTBOUND,
  RECORDS,
  RULE_ENGINE,
  SCHEDULER,
  SERVER_LOG,
  USER_CODE,
} from "#actors/names";
import type { FlowRegistration } from "#actors/records/flows/register-flow";
import { Records } from "#actors/records/records";
import type { ServerFacts } from "#actors/records/server-info";
import { Quarantine } from "#actors/rule-engine/reactions/quarantine";
import type { OutboundMessage, RulesMessage } from "#actors/rule-engine/rule-messages";
import type { DeclaredRule } from "#actors/rule-engine/rules/register-rules";
import { Scheduler } from "#actors/scheduler/scheduler";
import type { DecisionMessage } from "#actors/store-writer/commit-client";
import { COMMANDS, type Command, type CommandKind, type IdempotencyKey } from "#protocol/wire/command";
import type { Actor } from "#runtime/actor";
import { Durations } from "#runtime/durations";
import { Outbox } from "#runtime/effect";
import type { Decision } from "#storage/write/batch";
import { type DecisionRecord, decodeDecision, mergeDecisions, type Reply } from "./decision-record.ts";
import { serverFacts, testSecrets } from "./server-facts.ts";

/** 2027-01-15T08:00:00Z: late enough not to be mistaken for an unset time. */
export const START_US = 1_800_000_000_000_000;

/** The effects of one message. */
export interface Outcome extends DecisionRecord {
  /** The answer to the sent command; null if not answered yet. */
  reply: Reply | null;
  /** Id of the sent command, 0 for other messages. */
  command: number;
  /** Orders for the engine processes. */
  orders: EngineProcessesMessage[];
  /** Outbound messages. */
  outbound: OutboundMessage[];
  /** Messages to the rule engine. */
  toRules: RulesMessage[];
  /** Lines for the server's log. */
  serverLog: string[];
}

export interface KitOptions {
  settings?: Partial<DispatchSettings>;
  /** Runs that exist only in the store. */
  stored?: Map<number, Run>;
  /** Finds the answer stored under an Idempotency-Key; without it there are none. */
  storedAnswers?: (key: string) => StoredAnswer | null;
  /** Backfills that exist only in the store. */
  storedBackfills?: Map<number, Backfill>;
  /** True if the store has events and log lines older than any requested time. */
  oldHistory?: boolean;
  /** What the server is that differs from the facts of tests. */
  facts?: Partial<ServerFacts>;
  /** What the key of the home does differently. */
  secrets?: Partial<Secrets>;
  /** Instead of the stub; then the other options about the store have no effect. */
  store?: KitStore;
}

/** A store that gets the decisions as long as the test does not hold commits back, or once it no longer does. */
export interface KitStore {
  reader(flowOf: (id: number) => Flow | undefined): RunReader;
  commit(decision: Decision): void;
}

export interface SentCommand {
  target?: number;
  targetName?: string;
  body?: unknown;
  local?: boolean;
  idempotency?: IdempotencyKey | null;
  mcpClient?: string;
  ruleDepth?: number;
}

interface Timer {
  to: string;
  key: string;
  dueUs: number;
  message: unknown;
}

export const SETTINGS: DispatchSettings = {
  crashRetriesDefault: 5,
  retainDays: 30,
  retainRunsDays: null,
  resourceTotals: new Map(),
  emailConfigured: true,
  catchupDefault: "skip",
  timezone: "UTC",
  schedulesFire: true,
  cancelGraceUs: 10_000_000,
  backfillSliceRuns: 1_000,
  backfillNearMax: 100,
  rerunDelaySeconds: [5, 15],
  spawnEngines: false,
  enginesMax: 2,
  engineRunsMax: 100,
  externalEnginesMax: 10_000,
  unfinishedRunsMax: 1_000_000,
  runningMax: null,
  parkAfterSecs: 5,
  // The kit has no store that parked runs could be in.
  parkedWaitsMax: 1_000_000,
  enginePatterns: [],
  host: "this-host boot-1",
  servedDir: "/flows",
  serverPid: 4242,
};

export class DispatchKit {
  /** Assigning it is a step of the wall clock; `pass` lets time pass. */
  nowUs = START_US;
  /** As if the server had been started an hour ago. */
  uptimeUs = 3_600_000_000;
  /** As if the machine had been up for a day. */
  bootUs = 86_400_000_000;
  epoch = 1;
  /** Number of the newest step; all steps count as committed unless a test holds commits back. */
  turn = 0;
  committed: number | null = null;
  readonly state: LiveState;
  readonly stored: Map<number, Run>;
  /** Runs that were read from the store with their task runs. */
  readonly readWhole: number[] = [];
  readonly #actors: Record<string, Actor<never>>;
  readonly #timers = new Map<string, Timer>();
  readonly #waits = new Map<number, StoredWait>();
  /** The lineage of each run that has one. */
  readonly #lineages = new Map<number, number>();
  readonly #secrets: Secrets;
  readonly #store: KitStore | null;
  readonly #uncommitted: Decision[] = [];
  #nextCommand = 1;
  #uuids = 0;

  constructor(options: KitOptions = {}) {
    this.stored = options.stored ?? new Map();
    this.#secrets = { ...testSecrets(), ...options.secrets };
    this.#store = options.store ?? null;
    const stub = {
      readRun: (id: number, withTasks = true) => {
        if (withTasks) this.readWhole.push(id);
        return this.stored.get(id) ?? null;
      },
      readTexts: (id: number) => ({ external_id: `${id}`, name: `stored-${id}`, parameters: `{"stored":${id}}`, tags: "[]" }),
      findArtifact: () => null,
      readBackfill: (id: number) => options.storedBackfills?.get(id) ?? null,
      findFanIn: () => [],
      findAnswer: options.storedAnswers ?? (() => null),
      findVariable: () => null,
      hasSecrets: () => false,
      hasOldHistory: () => options.oldHistory ?? false,
      runsEndedBefore: () => [],
      endedRunsOf: () => [],
      // As before the first commit: only memory knows the runs.
      runsOfFiresAfter: () => [],
      hasFired: () => false,
      chainOf: () => 0,
      readLineage: () => null,
      hasRows: () => false,
      findWait: (lineage: number, identity: string) =>
        [...this.#waits.values()].find((wait) => wait.lineage_id === lineage && wait.identity === identity) ?? null,
      newestRunOf: (lineage: number) =>
        Math.max(0, ...[...this.#lineages].flatMap(([run, id]) => (id === lineage ? [run] : []))) || null,
      isEventOf: () => true,
      readParked: () => ({ runs: [], parks: [], lineages: new Map(), waits: [] }),
      findParked: () => [],
    };
    const resourceTotals = new Map(options.settings?.resourceTotals ?? SETTINGS.resourceTotals);
    const settings = { ...SETTINGS, ...options.settings, resourceTotals };
    this.state = new LiveState(
      options.store?.reader((id) => this.state.flows.get(id)) ?? stub,
      { flow: 1, run: 1, task_run: 1, artifact: 1, lease: 1, schedule: 1, backfill: 1, wait: 1 },
      settings,
    );
    this.state.uptimeUs = () => this.uptimeUs;
    this.state.bootUs = () => this.bootUs;
    const ports = this.#ports();
    const dispatcher = new Dispatcher(this.state, ports);
    this.#actors = {
      [DISPATCHER]: dispatcher,
      [LEASE_MANAGER]: new LeaseManager(this.state, ports),
      [RECORDS]: new Records(this.state, ports, { ...serverFacts(), ...options.facts }),
      [SCHEDULER]: new Scheduler(this.state, ports),
    };
    const out = new Outbox();
    dispatcher.begin(out);
    this.#perform(DISPATCHER, out, []);
  }

  /** Only what is stored of the engines is known, as after a restart of the core. */
  reloadEngines(newestEventUs: number | null = null): void {
    const { engines } = this.state;
    const rows = [...engines.values()].map((engine) => ({
      id: engine.id,
      pid: engine.pid,
      pid_started: engine.pidStarted,
      host: engine.host,
      project_key: storedEngine(engine),
      last_contact: this.nowUs,
    }));
    engines.clear();
    resume(this.state, { engines: rows, reruns: [], newest_event_us: newestEventUs }, this.#ports(), new Outbox());
  }

  /** A run in memory, by id. */
  run(id: number): Run {
    const run = this.state.findRun(id);
    if (run === undefined) throw new Error(`no run ${id}`);
    return run;
  }

  /** Sends a command and returns its effects; the body is text where the core parses it. */
  send(kind: CommandKind, sent: SentCommand = {}): Outcome {
    const { actor, parsed } = COMMANDS[kind];
    const id = this.#nextCommand;
    this.#nextCommand += 1;
    const body = parsed === "core" && typeof sent.body !== "string" ? JSON.stringify(sent.body ?? null) : (sent.body ?? null);
    const { target = 0, local = true, idempotency = null } = sent;
    // Tests send bodies of their kind, as the gateway does after it has checked them.
    const command = { kind, id, epoch: this.epoch, target, body, idempotency, local } as Command;
    if (sent.targetName !== undefined) command.target_name = sent.targetName;
    if (sent.mcpClient !== undefined) command.mcp_client = sent.mcpClient;
    if (sent.ruleDepth !== undefined) command.rule_depth = sent.ruleDepth;
    return this.#deliver(actor, command, id);
  }

  /** Informs the actor of a command about its client. */
  notice(kind: "Expired" | "Abandoned" | "Undelivered", command: number, actor = DISPATCHER): Outcome {
    return this.#deliver(actor, { kind, epoch: this.epoch, command }, command);
  }

  /** Sends the flows found by discovery, as the server does at its start. */
  register(flows: FlowRegistration[]): Outcome {
    return this.#deliver(RECORDS, { kind: "RegisterFlows", flows, gone: [], errors: [] }, 0);
  }

  /** Sends the reload of these flows' code after a change of one file. */
  reload(name: string, flows: Pick<FlowRegistration, "project" | "flow">[]): Outcome {
    return this.#deliver(RECORDS, { kind: "ReloadCode", files: 1, names: [name], flows }, 0);
  }

  /** Sends the rules found by discovery; the rules of broken modules are unknown. */
  registerRules(rules: DeclaredRule[], broken: string[] = []): Outcome {
    return this.#deliver(RECORDS, { kind: "RegisterRules", rules, broken }, 0);
  }

  /** Sends a message of another actor to the dispatcher. */
  tell(message: DispatcherMessage): Outcome {
    return this.#deliver(DISPATCHER, message, 0);
  }

  /** Sets the wall clock. As in runtime/timers.ts, timers keep their remaining time when the clock goes back. */
  setClock(byUs: number): void {
    this.nowUs += byUs;
    if (byUs < 0) for (const timer of this.#timers.values()) timer.dueUs += byUs;
  }

  /** The machine sleeps: time passes, but not on the clock of processes. */
  sleep(us: number): void {
    this.nowUs += us;
    this.bootUs += us;
  }

  /** Lets time pass; due timers fire in order. */
  pass(us: number): Outcome {
    const endUs = this.nowUs + us;
    const outcomes: Outcome[] = [];
    for (;;) {
      const first = [...this.#timers.values()].sort((a, b) => a.dueUs - b.dueUs)[0];
      if (first === undefined || first.dueUs > endUs) break;
      this.#timers.delete(`${first.to} ${first.key}`);
      this.#wait(first.dueUs);
      outcomes.push(this.#deliver(first.to, first.message, 0));
    }
    this.#wait(endUs);
    const decided = mergeDecisions(outcomes);
    const orders = outcomes.flatMap((outcome) => outcome.orders);
    const outbound = outcomes.flatMap((outcome) => outcome.outbound);
    const toRules = outcomes.flatMap((outcome) => outcome.toRules);
    const serverLog = outcomes.flatMap((outcome) => outcome.serverLog);
    return { ...decided, reply: null, command: 0, orders, outbound, toRules, serverLog };
  }

  #wait(untilUs: number): void {
    const us = Math.max(0, untilUs - this.nowUs);
    this.nowUs += us;
    this.uptimeUs += us;
    this.bootUs += us;
  }

  #deliver(to: string, message: unknown, command: number): Outcome {
    const decisions: DecisionRecord[] = [];
    const orders: EngineProcessesMessage[] = [];
    const outbound: OutboundMessage[] = [];
    const toRules: RulesMessage[] = [];
    const serverLog: string[] = [];
    const waiting: { to: string; message: unknown }[] = [{ to, message }];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const out = new Outbox();
      this.#actors[next.to]?.receive(next.message as never, out);
      for (const sent of this.#perform(next.to, out, orders)) {
        if (sent.to === OUTBOUND || sent.to === USER_CODE) outbound.push(sent.message as OutboundMessage);
        else if (sent.to === RULE_ENGINE) toRules.push(sent.message as RulesMessage);
        else if (sent.to === SERVER_LOG) serverLog.push((sent.message as { text: string }).text);
        else if (sent.to === COMMITS) {
          const { decision, afterCommit = [] } = sent.message as DecisionMessage;
          decisions.push(this.#decided(decision));
          orders.push(...afterCommit.map((late) => late.message as EngineProcessesMessage));
        } else waiting.push(sent);
      }
    }
    const decided = mergeDecisions(decisions);
    const reply = decided.replies.find((answer) => answer.command === command) ?? null;
    return { ...decided, reply, command, orders, outbound, toRules, serverLog };
  }

  /** Keeps the waits of a decision, which the group reads from the store once they are settled. */
  #decided(sent: Decision): DecisionRecord {
    this.#uncommitted.push(sent);
    if (this.committed === null) for (const each of this.#uncommitted.splice(0)) this.#store?.commit(each);
    const decision = decodeDecision(sent);
    for (const { op, ...row } of decision.ops) {
      const id = Number(row["id"]);
      if (op === "set_lineage") this.#lineages.set(id, Number(row["lineage_id"]));
      if (op === "delete_run") this.#lineages.delete(id);
      if (op === "put_wait") this.#waits.set(id, row as unknown as StoredWait);
      if (op === "settle_wait") this.#waits.set(id, { ...this.#waits.get(id), ...row } as StoredWait);
    }
    return decision;
  }

  /** Sets timers, collects orders, and returns the messages to other actors. */
  #perform(owner: string, out: Outbox, orders: EngineProcessesMessage[]): { to: string; message: unknown }[] {
    const sent: { to: string; message: unknown }[] = [];
    for (const effect of out.effects) {
      if (effect.kind === "SetTimer") {
        const { key, dueUs, message } = effect;
        this.#timers.set(`${owner} ${key}`, { to: owner, key, dueUs, message });
      } else if (effect.kind === "CancelTimer") {
        this.#timers.delete(`${owner} ${effect.key}`);
      } else if (effect.to === ENGINE_PROCESSES) {
        orders.push(effect.message as EngineProcessesMessage);
      } else {
        sent.push(effect);
      }
    }
    return sent;
  }

  #ports(): GroupPorts {
    const kit = this;
    return {
      nowUs: () => kit.nowUs,
      ids: {
        uuid: () => {
          kit.#uuids += 1;
          return `00000000-0000-7000-8000-${String(kit.#uuids).padStart(12, "0")}`;
        },
        random: () => 0.5,
      },
      get epoch() {
        return kit.epoch;
      },
      quarantine: new Quarantine(),
      secrets: kit.#secrets,
      committedTurn: () => kit.committed ?? kit.turn,
      lastSeq: () => 0,
      commits: new Durations(),
      announceEpoch: () => undefined,
      readOnly: false,
      takes: (message) => (epochOf(message as GroupMessage) ?? kit.epoch) === kit.epoch,
      nextTurn: () => {
        kit.turn += 1;
        return kit.turn;
      },
    };
  }
}
