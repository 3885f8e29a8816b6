/**
 * The scheduler: schedules of flows, the fires they produce, and the runs of those fires up to the moment they are queued.
 *
 * Messages in: commands of the gateway, its own timer, word of other actors of the group that schedules have changed.
 * Effects out: one decision per step for the commit client, its timer; runs are created and queued in the dispatcher's way.
 * Invariants: one run per schedule and fire, in the store too; a fire that a person skipped never starts; `consumed_until`
 * moves in the decision that decides the fires up to it.
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

/** Fires decided in one step where their runs are laid out (decideFires): some 10 ms, so that commands get their turn in between. */
const FIRES_PER_STEP_MAX = 1_000;

export class Scheduler implements Actor<SchedulerMessage> {
  readonly #state: LiveState;
  readonly #ports: GroupPorts;
  #armedUs: number | null = null;

  constructor(state: LiveState, ports: GroupPorts) {
    this.#state = state;
    this.#ports = ports;
  }

  /** Sets its timer; called once when the actor starts. What was missed while the server was down is due at once. */
  begin(out: Outbox): void {
    this.#arm(out);
  }

  receive(message: SchedulerMessage, out: Outbox): void {
    if (!this.#ports.takes(message)) return;
    const turn = new Turn(this.#state, this.#ports.nowUs(), this.#ports.ids, out, this.#ports.nextTurn());
    if ("rule_depth" in message) turn.ruleDepth = message.rule_depth ?? 0;
    this.#handle(turn, message);
    // Runs that were queued may need engines; the dispatcher looks after them.
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
    // A server that is stopping leaves what is due to the next one.
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
