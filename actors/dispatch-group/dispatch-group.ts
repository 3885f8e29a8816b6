/**
 * The dispatch group: dispatcher, lease manager, scheduler and records share one live state on one thread and are restarted
 * together. The dispatcher loads the state, once all earlier decisions are committed; the other actors use that state.
 */

import { refuse } from "#protocol/errors";
import type { ActorSpec } from "#runtime/actor";
import { assert } from "#runtime/assert";
import type { Outbox } from "#runtime/effect";
import { type LoadedStore, loadStore } from "#storage/load/load";
import type { Statements } from "#storage/sqlite/statements";
import { emptyDecision } from "#storage/write/batch";
import type { GroupPorts } from "../core/ports.ts";
import { changesIn, withChanges } from "../core/state/changed-settings.ts";
import { holdsUnheardRuns } from "../core/state/engine.ts";
import type { DispatchSettings, LiveState } from "../core/state/live-state.ts";
import { RunDurations } from "../core/state/run-durations.ts";
import { resumeCancels } from "../dispatcher/backfills/cancel-backfill.ts";
import { Dispatcher, settleAfterRestart } from "../dispatcher/dispatcher.ts";
import { ExpectationTimer } from "../expectation-timer/expectation-timer.ts";
import type { IdSource } from "../ids.ts";
import { LeaseManager } from "../lease-manager/lease-manager.ts";
import {
  COMMITS,
  DISPATCHER,
  ENGINE_PROCESSES,
  EXPECTATION_TIMER,
  LEASE_MANAGER,
  RECORDS,
  RULE_ENGINE,
  SCHEDULER,
} from "../names.ts";
import { Records } from "../records/records.ts";
import type { ServerFacts } from "../records/server-info.ts";
import { Quarantine } from "../rule-engine/reactions/quarantine.ts";
import { RuleEngine } from "../rule-engine/rule-engine.ts";
import { Scheduler } from "../scheduler/scheduler.ts";
import type { CommitClient } from "../store-writer/commit-client.ts";
import { answeredBy, changesNothing, epochOf, type GroupMessage, isOfDiscovery } from "./group-messages.ts";
import { loadLiveState, resume } from "./load.ts";

export interface GroupOptions {
  nowUs(): number;
  uptimeUs(): number;
  /** Time since boot, including sleep of the machine. */
  bootUs(): number;
  ids: IdSource;
  commits: CommitClient;
  /** Opens a read-only handle of the store for this thread; called at the first start, when the store exists. */
  openStore(): Statements;
  settings: DispatchSettings;
  facts: ServerFacts;
  /** Whether a process on this host is still the stored engine. */
  isAlive(pid: number, started: number | null): boolean;
  /** Epochs of this thread start above this, so that they grow over restarts of the thread. */
  firstEpoch: number;
}

export class DispatchGroup {
  readonly #options: GroupOptions;
  readonly #ports: GroupPorts;
  #epoch: number;
  #turn = 0;
  #tickets = 0;
  /** True when an actor of the group failed within a step: the shared state is invalid until it is reloaded. */
  #halted = false;
  #readOnly = false;
  /** Messages of discovery received in the read-only state, kept for the reload. */
  #kept: GroupMessage[] = [];
  readonly #quarantine = new Quarantine();
  readonly #durations = new RunDurations();
  #statements: Statements | null = null;
  #state: LiveState | null = null;

  constructor(options: GroupOptions) {
    this.#options = options;
    this.#epoch = options.firstEpoch;
    const epoch = (): number => this.#epoch;
    const readOnly = (): boolean => this.#readOnly;
    this.#ports = {
      nowUs: options.nowUs,
      ids: options.ids,
      get epoch() {
        return epoch();
      },
      get readOnly() {
        return readOnly();
      },
      // Each actor passes on the messages of its own type.
      takes: (message) => this.#takes(message as GroupMessage),
      quarantine: this.#quarantine,
      secrets: options.facts.secrets,
      committedTurn: () => options.commits.committedTurn,
      announceEpoch: () => options.commits.announce(this.#epoch),
      lastSeq: () => options.commits.lastSeq,
      commits: options.commits.commits,
      nextTurn: () => {
        this.#turn += 1;
        return this.#turn;
      },
    };
  }

  /** The live state; null before the first start. For checks of a simulation. */
  get state(): LiveState | null {
    return this.#state;
  }

  /** The time on which retention is based. */
  receivedUs(): number {
    const nowUs = this.#options.nowUs();
    return Math.max(nowUs, this.#state?.clock.trustedUs(nowUs, this.#options.uptimeUs) ?? nowUs);
  }

  /** Informs the actors that wait for a commit. */
  committed(send: (to: string, message: unknown) => void): void {
    send(RULE_ENGINE, { kind: "Wake" });
    if (this.#state === null) return;
    const { openReports, openCancels, openDeletions } = this.#state;
    if (openReports.size + openCancels.size + openDeletions.size > 0) send(DISPATCHER, { kind: "ContinueSlices" });
    if (this.#state.rules.unsentOutbound.length > 0) send(DISPATCHER, { kind: "SendOutbound" });
  }

  /** The actors of the group in start order. */
  specs(): ActorSpec[] {
    // The host gives an actor only messages of its type, and none of another type back.
    const failed = (message: unknown, _error: Error, out: Outbox): void => {
      this.#halted = true;
      // The gateway resends a command of an older epoch, which then has an answer of its own.
      if (!this.#isOfOtherStart(message as GroupMessage)) answerDefect(message as GroupMessage, out);
    };
    // Messages with the new epoch for an actor that has yet to start are not resent by the gateway, so keep them.
    const resent = (message: unknown): boolean => this.#isOfOtherStart(message as GroupMessage);
    const shared = { failed, resent } as const;
    return [
      { name: DISPATCHER, start: (_context, out) => this.#startDispatcher(out), ...shared },
      { name: LEASE_MANAGER, start: () => new LeaseManager(this.#loaded(), this.#ports), ...shared },
      { name: SCHEDULER, start: (_context, out) => this.#startScheduler(out), ...shared },
      { name: RECORDS, start: () => new Records(this.#loaded(), this.#ports, this.#options.facts), ...shared },
    ];
  }

  /** The actors that read the live state of the group without changing it. */
  reactionSpecs(): ActorSpec[] {
    const { nowUs, uptimeUs } = this.#options;
    const engine = {
      state: () => this.#state,
      statements: () => this.#opened(),
      epoch: () => this.#epoch,
      nextTicket: () => {
        this.#tickets += 1;
        return this.#tickets;
      },
      quarantine: this.#quarantine,
    };
    const timer = {
      nowUs,
      book: () => this.#state?.rules ?? null,
      startedAtUs: () => nowUs() - uptimeUs(),
      isEngineSilent: () => [...(this.#state?.engines.values() ?? [])].some(holdsUnheardRuns),
    };
    return [
      { name: RULE_ENGINE, start: () => new RuleEngine(engine) },
      { name: EXPECTATION_TIMER, start: (_context, out) => new ExpectationTimer(timer, out) },
    ];
  }

  #opened(): Statements {
    this.#statements ??= this.#options.openStore();
    return this.#statements;
  }

  async #startDispatcher(out: Outbox): Promise<Dispatcher> {
    const { commits, facts, isAlive, uptimeUs, bootUs } = this.#options;
    await commits.settled();
    const statements = this.#opened();
    const stored = loadStore(statements.database);
    const state = loadLiveState(stored, statements, this.#settings(stored), facts.liveFlows);
    state.committedTurn = this.#ports.committedTurn;
    state.uptimeUs = uptimeUs;
    state.bootUs = bootUs;
    state.durations = this.#durations;
    this.#durations.reloaded();
    this.#state = state;
    this.#epoch += 1;
    this.#halted = false;
    this.#readOnly = commits.readOnly;
    const turn = resume(state, stored, this.#ports, out);
    const dispatcher = new Dispatcher(state, this.#ports);
    if (this.#readOnly) {
      this.#ports.announceEpoch();
      return dispatcher;
    }
    settleAfterRestart(turn, (engine) => !engine.local || isAlive(engine.pid, engine.pidStarted));
    resumeCancels(turn);
    turn.finish();
    out.send(ENGINE_PROCESSES, { kind: "Resync", epoch: this.#epoch });
    this.#ports.announceEpoch();
    dispatcher.begin(out);
    for (const message of this.#kept.splice(0)) out.send(RECORDS, message);
    out.send(RULE_ENGINE, { kind: "Wake" });
    out.send(EXPECTATION_TIMER, { kind: "Rearm" });
    return dispatcher;
  }

  #settings({ settings: rows }: LoadedStore): DispatchSettings {
    const { settings, facts } = this.#options;
    // Changes that are in the file stay in these settings, because the file is read once.
    if (facts.writeSettings !== null) return settings;
    const changes = changesIn(rows);
    facts.changedSettings.clear();
    for (const name of changes.keys()) facts.changedSettings.add(name);
    return withChanges(settings, changes);
  }

  #startScheduler(out: Outbox): Scheduler {
    const scheduler = new Scheduler(this.#loaded(), this.#ports);
    if (!this.#readOnly) scheduler.begin(out);
    return scheduler;
  }

  #takes(message: GroupMessage): boolean {
    // The gateway resends every unanswered command after each start of the core, so drop those with an older epoch.
    if (this.#halted || this.#isOfOtherStart(message)) return false;
    if (!this.#readOnly || changesNothing(message)) return true;
    if (isOfDiscovery(message)) this.#kept.push(message);
    return false;
  }

  #isOfOtherStart(message: GroupMessage): boolean {
    const epoch = epochOf(message);
    return epoch !== null && epoch !== this.#epoch;
  }

  #loaded(): LiveState {
    assert(this.#state !== null, "the dispatcher loads the state first");
    return this.#state;
  }
}

/** The command that crashed an actor changed nothing: its client gets 500 at once, other commands are resent. */
function answerDefect(message: GroupMessage, out: Outbox): void {
  const command = answeredBy(message);
  if (command === null) return;
  const refusal = refuse("internal", `in command ${command.id}`);
  const decision = { ...emptyDecision(), replies: [command.id, refusal.status, refusal.body()] };
  out.send(COMMITS, { decision, turn: 0 });
}
