/**
 * The scheduler: schedules of flows, their fires, and the runs of those fires until they are queued.
 *
 * Messages in: commands of the gateway, its own timer, changes of schedules by other actors of the group. Effects out: one
 * decision per step for the commit client, its timer; runs are created and queued by the dispatcher's functions. Invariants:
 * one run per schedule and fire, in the store too; a fire that a person skipped never starts; `consumed_until` moves in the
 * decision that decides the fires up to it.
 */
import type { CommandsOf } from "#protocol/wire/command";
import type { Outbox } from "#runtime/effect";
import { type CommandHandlers, CoreActor, type MessageHandlers, NO_LONG_POLLS } from "../core/core-actor.ts";
import type { Turn } from "../core/turn.ts";
import { acceptClockCommand } from "../dispatcher/clock/clock-repair.ts";
import { DISPATCHER } from "../names.ts";
import { decideFires } from "./fires/decide-fires.ts";
import { listFires, listUpcoming } from "./fires/upcoming.ts";
import type { SchedulerMessage } from "./scheduler-messages.ts";
import {
  createScheduleCommand,
  deleteScheduleCommand,
  patchScheduleCommand,
  pauseFlowCommand,
  pauseScheduleCommand,
  previewScheduleCommand,
  putScheduleCommand,
  resumeFlowCommand,
  resumeScheduleCommand,
  skipFiresCommand,
  undoSkipCommand,
} from "./schedules/schedule-commands.ts";

/** Maximum of prepared fires decided per step (decideFires): about 10 ms, so that commands run in between. */
const FIRES_PER_STEP_MAX = 1_000;

export class Scheduler extends CoreActor<CommandsOf<"scheduler">, SchedulerMessage> {
  protected readonly commands: CommandHandlers<CommandsOf<"scheduler">> = {
    CreateSchedule: createScheduleCommand,
    PutSchedule: putScheduleCommand,
    PreviewSchedule: previewScheduleCommand,
    PatchSchedule: patchScheduleCommand,
    DeleteSchedule: deleteScheduleCommand,
    PauseSchedule: pauseScheduleCommand,
    ResumeSchedule: resumeScheduleCommand,
    PauseFlow: pauseFlowCommand,
    ResumeFlow: resumeFlowCommand,
    SkipFires: skipFiresCommand,
    UndoSkip: undoSkipCommand,
    ListUpcoming: listUpcoming,
    ListFires: listFires,
    AcceptClock: acceptClockCommand,
  };
  protected readonly messages: MessageHandlers<SchedulerMessage> = {
    FiresDue: (turn) => this.#decideDue(turn),
    // The step itself re-arms the timer.
    SchedulesChanged: () => undefined,
    ...NO_LONG_POLLS,
  };
  #armedUs: number | null = null;

  /** Sets the timer; called once when the actor starts. Fires missed while the server was down are due at once. */
  begin(out: Outbox): void {
    this.#arm(out);
  }

  protected override handled(turn: Turn): void {
    // Runs that were queued may need engines; the dispatcher starts them.
    if (this.state.demand.size > 0) turn.out.send(DISPATCHER, { kind: "CapacityFreed", resources: [] });
  }

  protected override stepped(out: Outbox): void {
    this.#arm(out);
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
    if (!this.state.settings.schedulesFire) return;
    const nextUs = this.state.schedules.nextDueUs();
    if (nextUs === null || nextUs === this.#armedUs || this.state.stopping) return;
    this.#armedUs = nextUs;
    out.setTimer("fires", nextUs, { kind: "FiresDue" });
  }
}
