/**
 * The dispatcher: runs and task runs from creation to end, and the engines that execute them.
 *
 * Messages in: commands of the gateway, news of engine processes, its own timers. Effects out: one decision per step for the
 * commit client, orders to the engine processes, its timers. Invariants: at most one engine holds a run; every state move is
 * in the state table or forced; leases of runs never exceed the totals of resources; every command gets exactly one answer.
 */

import { IDEMPOTENCY_KEEP_US } from "#protocol/limits";
import type { CommandsOf } from "#protocol/wire/command";
import { unreachable } from "#runtime/assert";
import type { Outbox } from "#runtime/effect";
import { type CommandHandlers, CoreActor, type MessageHandlers } from "../core/core-actor.ts";
import type { GroupPorts } from "../core/ports.ts";
import type { Deadline } from "../core/state/deadlines.ts";
import { type Engine, engineKey } from "../core/state/engine.ts";
import type { LiveState } from "../core/state/live-state.ts";
import type { Turn } from "../core/turn.ts";
import type { PoolReport } from "../engine-processes/engine-process-messages.ts";
import { lapse, tickDone } from "../expectation-timer/expectation-lifecycle.ts";
import { ENGINE_PROCESSES, RULE_ENGINE } from "../names.ts";
import { resendOutbound, sendCommittedOutbound } from "../rule-engine/reactions/outbound-messages.ts";
import { applyReactions, outboundDone } from "../rule-engine/reactions/reactions.ts";
import type { ReactionMessage } from "../rule-engine/rule-messages.ts";
import { callCancels, cancelBackfillCommand, cancelSlice } from "./backfills/cancel-backfill.ts";
import { continueBackfill, createBackfillCommand } from "./backfills/create-backfill.ts";
import { prefilterCommand, releaseUnchecked } from "./backfills/prefilter-backfill.ts";
import { continueBatch, createRunsCommand } from "./creation/create-batch.ts";
import { createFlowRunCommand, createRunCommand } from "./creation/create-commands.ts";
import { retryRunCommand } from "./creation/retry-run.ts";
import type { DispatcherMessage, EngineGone } from "./dispatcher-messages.ts";
import { answerCallbackCommand } from "./durable/answer-callback.ts";
import { armWaitsCommand } from "./durable/arm-waits.ts";
import { lookedBack } from "./durable/events.ts";
import { retryDue, waitDue } from "./durable/settle.ts";
import { wakeCommand } from "./durable/wake-command.ts";
import { engineFailed } from "./engines/engine-failed.ts";
import { EnginePool } from "./engines/engine-pool.ts";
import { exchange } from "./engines/exchange.ts";
import { heartbeat } from "./engines/heartbeat.ts";
import { endRuns, engineGone } from "./engines/registered-engines.ts";
import { remindOfStops } from "./engines/stop-order.ts";
import { capacityFreed, dispatchPlaces, enqueue, processSeen } from "./hand-out/hand-out.ts";
import { checkHandOuts } from "./hand-out/hand-out-checks.ts";
import { markLate, markWaiting } from "./hand-out/waiting.ts";
import { notice, sendAway, work } from "./hand-out/work.ts";
import { applyNextSlice, report } from "./reports/report.ts";
import { Retention } from "./retention/sweep.ts";
import { cancelCommand, cancelKill, cancelTerm, timeOut, timeoutKill } from "./states/cancel-run.ts";
import { crashRun, rerun } from "./states/crash.ts";
import { callDeletions, deleteFlowCommand, deletionSlice } from "./states/delete-flow.ts";
import { deleteRunCommand } from "./states/delete-run.ts";
import { hookDone } from "./states/hook-done.ts";
import { resumeRunCommand } from "./states/resume-run.ts";
import { transitionRun } from "./states/transition-run.ts";

/** Interval of the checks of waiting runs: AwaitingResource has to appear within half a second. */
const TICK_US = 250_000;
/** Deadlines handled in one step: some milliseconds of moves. */
const DEADLINES_AT_ONCE = 200;
/** Interval of deleting expired answers. */
const FORGET_EVERY_US = 3_600_000_000;
/** An engine on another host counts as gone after this much silence. */
const REMOTE_SILENCE_US = 30_000_000;

export class Dispatcher extends CoreActor<CommandsOf<"dispatcher">, DispatcherMessage> {
  protected readonly commands: CommandHandlers<CommandsOf<"dispatcher">> = {
    CreateRun: createRunCommand,
    CreateFlowRun: createFlowRunCommand,
    CreateRuns: createRunsCommand,
    TransitionRun: (turn, command) => {
      if (!this.state.openReports.putBehind(command.target, command)) transitionRun(turn, command);
    },
    Report: (turn, command) => {
      report(turn, command);
      this.state.openReports.callNext(turn.out, this.ports.committedTurn());
    },
    Heartbeat: heartbeat,
    Work: work,
    Exchange: exchange,
    EngineFailed: engineFailed,
    CancelRun: cancelCommand,
    DeleteRun: deleteRunCommand,
    ResumeRun: resumeRunCommand,
    WakeRun: wakeCommand,
    ArmWaits: (turn, command) => armWaitsCommand(turn, command, this.ports.secrets),
    AnswerCallback: answerCallbackCommand,
    RetryRun: retryRunCommand,
    DeleteFlow: deleteFlowCommand,
    CreateBackfill: createBackfillCommand,
    CancelBackfill: cancelBackfillCommand,
    PrefilterBackfill: prefilterCommand,
  };
  protected readonly messages: MessageHandlers<DispatcherMessage> = {
    Expired: notice,
    Abandoned: notice,
    Undelivered: notice,
    EngineGone: (turn, message) => this.#engineGone(turn, message),
    EngineSeen: (turn, { engine_id, pid_started }) => this.#engineSeen(turn, engine_id, pid_started),
    PoolReport: (_turn, report) => this.#poolReport(report),
    ModuleChanged: (turn, { source_dir, module }) => this.#moduleChanged(turn, source_dir, module),
    DeadlineDue: (turn) => this.#fireDeadlines(turn),
    Tick: (turn) => this.#tick(turn),
    GatewayStarted: () => this.#gatewayStarted(),
    StopWork: (turn) => this.#stopWork(turn),
    React: (turn, message) => this.#react(turn, message),
    Lapse: (turn, message) => this.#react(turn, message),
    TickDone: (turn, message) => this.#react(turn, message),
    LookedBack: (turn, message) => this.#react(turn, message),
    OutboundDone: (turn, message) => this.#react(turn, message),
    SendOutbound: (turn) => sendCommittedOutbound(turn, this.ports.committedTurn()),
    HookDone: hookDone,
    ContinueSlices: (turn) => this.#continueSlices(turn),
    ReportSlice: (turn, { run_id }) => this.#continueReport(turn, run_id),
    BackfillSlice: (turn, { draft }) => continueBackfill(turn.causedBy(draft.command), draft),
    BatchSlice: (turn, { draft }) => continueBatch(turn.causedBy(draft.command), draft),
    CancelSlice: (turn, { backfill_id }) => cancelSlice(turn, backfill_id),
    DeletionSlice: (turn, { flow_id }) => deletionSlice(turn, flow_id),
    ReceiverStarted: (turn, { receiver }) => resendOutbound(turn, receiver),
    CapacityFreed: (turn, { resources }) => capacityFreed(turn, resources),
  };
  readonly #pool = new EnginePool();
  #armedUs: number | null = null;
  /** The wall clock minus the server's uptime, at the last check. */
  #clockUs: number;
  /** Time since boot. */
  #forgetUs: number;
  readonly #retention: Retention;

  constructor(state: LiveState, ports: GroupPorts) {
    super(state, ports);
    this.#retention = new Retention(state.bootUs());
    this.#clockUs = ports.nowUs() - state.uptimeUs();
    this.#forgetUs = state.bootUs() + FORGET_EVERY_US;
  }

  /** Sets the timers; called once at the actor's start. */
  begin(out: Outbox): void {
    out.setTimer("tick", this.ports.nowUs() + TICK_US, { kind: "Tick" });
    this.#armDeadline(out);
  }

  protected override handled(turn: Turn): void {
    if (this.state.placeFreed) dispatchPlaces(turn);
    if (this.state.demand.size > 0 && !this.ports.readOnly) this.#pool.adjust(turn);
  }

  protected override stepped(out: Outbox): void {
    this.state.parked.trim(this.ports.committedTurn());
    this.#armDeadline(out);
  }

  #continueSlices(turn: Turn): void {
    const committedTurn = this.ports.committedTurn();
    this.state.openReports.callNext(turn.out, committedTurn);
    callCancels(turn, committedTurn);
    callDeletions(turn, committedTurn);
  }

  /**
   * Applies the next slice of a report; after the last slice, handles the commands that waited behind it, each as a separate
   * step.
   */
  #continueReport(turn: Turn, runId: number): void {
    const { openReports } = this.state;
    const open = openReports.find(runId);
    if (open === undefined) return;
    open.called = false;
    if (open.next < open.slices.length) {
      applyNextSlice(turn.causedBy(open.command), open);
    } else {
      const command = open.behind.shift();
      openReports.remove(open);
      if (command !== undefined) this.command(turn, command);
      openReports.addAgain(open);
    }
    if (open.next === open.slices.length && open.behind.length === 0) openReports.remove(open);
    openReports.callNext(turn.out, this.ports.committedTurn());
  }

  #engineGone(turn: Turn, { engine_id: engineId, pid, cause, details }: EngineGone): void {
    const known = this.state.engines.get(engineId);
    // Told twice of a process that is forgotten, whose name may be that of an engine that is starting.
    if (pid !== undefined && known?.pid !== pid) return;
    const spawned = this.state.pool.get(engineId);
    const polled = this.state.engines.has(engineId) || spawned?.polled === true;
    engineGone(turn, engineId, cause, details);
    if (spawned !== undefined) this.#pool.gone(turn, spawned, polled, cause);
  }

  #engineSeen(turn: Turn, engineId: string, pidStarted: number | null): void {
    const engine = this.state.engines.get(engineId);
    if (engine !== undefined) processSeen(turn, engine, pidStarted);
  }

  /** Engines of the pool that survived a restart of this actor. */
  #poolReport({ engines, newest }: PoolReport): void {
    if (newest !== null) this.#pool.adopt(newest, this.state.settings.serverPid);
    for (const { engine_id, key } of engines) {
      const engine = this.state.engines.get(engine_id);
      if (engine !== undefined) engine.spawned = true;
      this.#pool.adopt(engine_id, this.state.settings.serverPid);
      this.state.pool.set(engine_id, { id: engine_id, key: engineKey(key), startedUs: this.ports.nowUs(), polled: true });
    }
    this.state.poolKnown = true;
  }

  #react(turn: Turn, message: ReactionMessage): void {
    const { quarantine } = this.ports;
    if (message.kind === "OutboundDone") return outboundDone(turn, message, quarantine);
    const current = message.core === this.ports.epoch;
    if (message.kind === "React") {
      if (current) applyReactions(turn, message, quarantine);
      turn.out.send(RULE_ENGINE, { kind: "Reacted", from: message.from });
    } else if (current && message.kind === "LookedBack") lookedBack(turn, message);
    else if (current && message.kind === "Lapse") lapse(turn, message.due, quarantine);
    else if (current && message.kind === "TickDone") tickDone(turn, message, quarantine);
  }

  #moduleChanged(turn: Turn, sourceDir: string, module: string): void {
    for (const engine of [...this.state.engines.values()]) {
      if (engine.key.source_dir !== sourceDir || engine.key.module !== module) continue;
      engine.exitRequested = true;
      sendAway(turn, engine);
    }
  }

  #fireDeadlines(turn: Turn): void {
    this.#armedUs = null;
    const { deadlines } = this.state;
    const all: Deadline[] = [];
    // The rest is left to the next step, so that ten thousand ends of sleeps at one instant hold up no other command.
    while (all.length < DEADLINES_AT_ONCE) {
      const due = deadlines.takeDue(turn.nowUs);
      if (due === undefined) break;
      all.push(due);
    }
    this.state.parked.recallWaits(all.flatMap((due) => (due.kind === "wait" ? due.wait_id : [])));
    this.state.parked.recall(all.flatMap((due) => ("run_id" in due ? due.run_id : [])));
    for (const due of all) this.#fire(turn, due);
  }

  #fire(turn: Turn, due: Deadline): void {
    if (due.kind === "unchecked") return releaseUnchecked(turn, due.backfill_id);
    if (due.kind === "wait") return waitDue(turn, due.wait_id);
    if (due.kind === "rerun") return rerun(turn, due.run_id, due.stamp);
    const run = this.state.findRun(due.run_id);
    if (run === undefined) return;
    switch (due.kind) {
      case "due":
        if (run.place === "future") enqueue(turn, run);
        return;
      case "late":
        return markLate(turn, run);
      case "wake":
        return retryDue(turn, run);
      case "timeout":
        return timeOut(turn, run, due.stamp);
      case "timeout-kill":
        return timeoutKill(turn, run, due.stamp);
      case "cancel-term":
        return cancelTerm(turn, run);
      case "cancel-kill":
        return cancelKill(turn, run);
      default:
        return unreachable(due.kind);
    }
  }

  #tick(turn: Turn): void {
    turn.state.clock.look(turn);
    this.#clockUs = turn.nowUs - turn.state.uptimeUs();
    markWaiting(turn);
    this.#pool.tick(turn);
    remindOfStops(turn);
    for (const engine of [...this.state.engines.values()]) {
      checkHandOuts(turn, engine);
      this.#checkRemote(turn, engine);
    }
    this.state.trim(this.ports.committedTurn());
    this.state.queue.forgetUnused();
    this.#forgetAnswers(turn);
    this.#retention.tick(turn);
    turn.out.setTimer("tick", turn.nowUs + TICK_US, { kind: "Tick" });
  }

  #checkRemote(turn: Turn, engine: Engine): void {
    if (engine.local || engine.poll !== null || turn.state.uptimeUs() - engine.lastContactUs < REMOTE_SILENCE_US) return;
    engineGone(turn, engine.id, "no contact with its engine");
  }

  /** Deletes answers under an Idempotency-Key after a day. */
  #forgetAnswers(turn: Turn): void {
    const { clock } = turn.state;
    if (clock.openStep !== null || clock.bootUs < this.#forgetUs) return;
    this.#forgetUs = clock.bootUs + FORGET_EVERY_US;
    turn.rows.put("delete_idempotency", { created_at: turn.nowUs - IDEMPOTENCY_KEEP_US });
  }

  #gatewayStarted(): void {
    for (const poll of [...this.state.queue.polls()]) this.state.queue.unpark(poll);
    this.ports.announceEpoch();
  }

  /** Idle engines end with the server; busy engines stay, for the next server to adopt. */
  #stopWork(turn: Turn): void {
    const first = !this.state.stopping;
    this.state.stopping = true;
    if (first) this.#endPolls(turn);
    const runs = [...this.state.runs.values()].filter((run) => run.assigned).length;
    turn.out.send(ENGINE_PROCESSES, { kind: "Staying", runs });
  }

  /** Idle engines of the pool end, and parked polls are answered with LEAVE. */
  #endPolls(turn: Turn): void {
    for (const id of this.state.pool.keys()) {
      const engine = this.state.engines.get(id);
      if (engine !== undefined && engine.runs.size > 0) continue;
      turn.out.send(ENGINE_PROCESSES, { kind: "Signal", engine_id: id, pid: engine?.pid ?? 0, signal: "SIGTERM" });
    }
    for (const poll of [...this.state.queue.polls()]) sendAway(turn, poll.engine);
  }

  #armDeadline(out: Outbox): void {
    const nextUs = this.state.deadlines.nextDueUs(this.#clockUs);
    if (nextUs === null || nextUs === this.#armedUs) return;
    if (this.#armedUs !== null && this.#armedUs < nextUs) return;
    this.#armedUs = nextUs;
    out.setTimer("deadline", nextUs, { kind: "DeadlineDue" });
  }
}

const RESTARTED = "server restarted while run was in progress";

/** Ends the runs whose engine did not survive the restart of the server; called after the state is loaded. */
export function settleAfterRestart(turn: Turn, isAlive: (engine: Engine) => boolean): void {
  const { engines, runs } = turn.state;
  for (const run of [...runs.values()]) if (run.assigned && !engines.has(run.engine_id ?? "")) crashRun(turn, run, RESTARTED);
  for (const engine of [...engines.values()]) if (engine.runs.size > 0 && !isAlive(engine)) endRuns(turn, engine, RESTARTED);
}
