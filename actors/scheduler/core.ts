/**
 * The scheduler: schedules of flows, their fires, and the runs of those fires until they are queued.
 *
 * Messages in: commands of the gateway, its own timer, changes of schedules by other actors of the group. Effects out: one
 * decision per step for the commit client, its timer; runs are created and queued by the dispatcher's functions. Invariants:
 * one run per schedule and fire, in the store too; a fire that a person skipped never starts; `consumed_until` moves in the
 * decision that decides the fires up to it.
 */
import type { Command } from "#protocol/command";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { acceptClockCommand } from "../clock/put-right.ts";
import type { GroupPorts } from "../group.ts";
import type { LiveState } from "../live-state/live-state.ts";
import { DISPATCHER } from "../names.ts";
import { Turn } from "../turn.ts";
import { decideFires } from "./decide-fires.ts";
import type { SchedulerMessage } from "./messages.ts";
import {
  createScheduleCommand,
  deleteScheduleCommand,
  patchScheduleCommand,
  pauseFlowCommand,
  pauseScheduleCommand,
  previewScheduleCommand,
  resumeFlowCommand,
  resumeScheduleCommand,
  skipFiresCommand,
  undoSkipCommand,
} from "./schedule-commands.ts";
import { listFires, listUpcoming } from "./upcoming.ts";

/** Maximum of prepared fires decided per step (decideFires): about 10 ms, so that commands run in between. */
const FIRES_PER_STEP_MAX = 1_000;

export class Scheduler implements Actor<SchedulerMessage> {
  readonly #state: LiveState;
  readonly #ports: GroupPorts;
  #armedUs: number | null = null;

  constructor(state: LiveState, ports: GroupPorts) {
    this.#state = state;
    this.#ports = ports;
  }

  /** Sets the timer; called once at the actor's start. Fires missed while the server was down are due at once. */
  begin(out: Outbox): void {
    this.#arm(out);
  }

  receive(message: SchedulerMessage, out: Outbox): void {
    if (!this.#ports.takes(message)) return;
    const turn = new Turn(this.#state, this.#ports.nowUs(), this.#ports.ids, out, this.#ports.nextTurn());
    if ("rule_depth" in message) turn.ruleDepth = message.rule_depth ?? 0;
    this.#handle(turn, message);
    // Queued runs may need engines, which the dispatcher starts.
    if (this.#state.demand.size > 0) out.send(DISPATCHER, { kind: "CapacityFreed", resources: [] });
    turn.finish();
    this.#arm(out);
  }

  #handle(turn: Turn, message: SchedulerMessage): void {
    switch (message.kind) {
      case "FiresDue":
        return this.#decideDue(turn);
      case "SchedulesChanged":
      case "Expired":
      case "Abandoned":
      case "Undelivered":
        return;
      default:
        return handleCommand(turn, message);
    }
  }

  #decideDue(turn: Turn): void {
    this.#armedUs = null;
    // A stopping server leaves due fires to the next server.
    if (turn.state.stopping) return;
    const { schedules } = turn.state;
    for (let decided = 0; decided < FIRES_PER_STEP_MAX; ) {
      const schedule = schedules.takeDue(turn.nowUs);
      if (schedule === undefined) return;
      decided += decideFires(turn, schedule);
    }
  }

  #arm(out: Outbox): void {
    if (!this.#state.settings.schedulesFire) return;
    const nextUs = this.#state.schedules.nextDueUs();
    if (nextUs === null || nextUs === this.#armedUs || this.#state.stopping) return;
    this.#armedUs = nextUs;
    out.setTimer("fires", nextUs, { kind: "FiresDue" });
  }
}

function handleCommand(turn: Turn, command: Command): void {
  switch (command.kind) {
    case "AcceptClock":
      return acceptClockCommand(turn, command);
    case "CreateSchedule":
      return createScheduleCommand(turn, command);
    case "PreviewSchedule":
      return previewScheduleCommand(turn, command);
    case "PatchSchedule":
      return patchScheduleCommand(turn, command);
    case "DeleteSchedule":
      return deleteScheduleCommand(turn, command);
    case "PauseSchedule":
      return pauseScheduleCommand(turn, command);
    case "ResumeSchedule":
      return resumeScheduleCommand(turn, command);
    case "PauseFlow":
      return pauseFlowCommand(turn, command);
    case "ResumeFlow":
      return resumeFlowCommand(turn, command);
    case "SkipFires":
      return skipFiresCommand(turn, command);
    case "UndoSkip":
      return undoSkipCommand(turn, command);
    case "ListUpcoming":
      return listUpcoming(turn, command);
    case "ListFires":
      return listFires(turn, command);
    default:
      throw new Error(`the scheduler does not take ${command.kind}`);
  }
}
