/** Messages of the scheduler. */
import type { CommandNotice } from "#protocol/wire/command";

/** Own timer: a schedule is due. */
export interface FiresDue {
  kind: "FiresDue";
}

/** Another actor of the group has changed the due time of schedules. */
export interface SchedulesChanged {
  kind: "SchedulesChanged";
}

export type SchedulerMessage = CommandNotice | FiresDue | SchedulesChanged;
