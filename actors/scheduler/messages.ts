/** Messages of the scheduler. */
import type { Command, CommandNotice } from "#protocol/command";

/** Its own timer: a schedule is due. */
export interface FiresDue {
  kind: "FiresDue";
}

/** Another actor of the group has changed when schedules are due. */
export interface SchedulesChanged {
  kind: "SchedulesChanged";
}

export type SchedulerMessage = Command | CommandNotice | FiresDue | SchedulesChanged;
