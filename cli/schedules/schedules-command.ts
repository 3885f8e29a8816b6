/** `millrace schedules` and its options. */
import { type CommandSpec, WATCH } from "../command-spec.ts";
import type { ConnectionOptions } from "../connection.ts";
import type { PreviewOptions, ScheduleListOptions, SkipOptions } from "./schedules.ts";
import type { ScheduleSetOptions } from "./set-schedule.ts";

const ID = { name: "<id>", description: "id of the schedule" };

/** When a schedule fires. */
const WHEN = [
  { flags: "--cron <expression>", description: "five-field cron expression" },
  { flags: "--every <interval>", description: "interval such as 30m or 1d" },
  { flags: "--rrule <rule>", description: "RFC 5545 rule with DTSTART" },
  { flags: "--timezone <name>", description: "IANA zone (default: the server's)" },
];

const LS: CommandSpec = {
  name: "ls",
  description: "list schedules",
  connects: true,
  options: [
    { flags: "--flow <name>", description: "only of this flow" },
    { flags: "--project <name>", description: "only of this project" },
    WATCH,
  ],
  async run(_args, options: ScheduleListOptions) {
    return await (await import("./schedules.ts")).listSchedules(options);
  },
};

const PREVIEW: CommandSpec = {
  name: "preview",
  description: "show the next fires of a schedule",
  connects: true,
  options: [...WHEN, { flags: "--count <n>", description: "how many fires, at most 20", default: "3" }],
  async run(_args, options: PreviewOptions) {
    return await (await import("./schedules.ts")).previewSchedule(options);
  },
};

const SET: CommandSpec = {
  name: "set",
  description: "create the schedule of a flow with a key, or replace it",
  connects: true,
  arguments: [
    { name: "<flow>", description: "flow, or project/flow" },
    { name: "<key>", description: "key of the schedule among those of the flow" },
  ],
  options: [
    ...WHEN,
    { flags: "--catchup <policy>", description: "fires missed while the server is down: skip, latest or all" },
    { flags: "--catchup-max <n>", description: "most fires that catchup all runs" },
    { flags: "--parameters <json>", description: 'parameters of the runs, such as {"day":"{{ fire.date }}"}' },
  ],
  async run([flow = "", key = ""], options: ScheduleSetOptions) {
    return await (await import("./set-schedule.ts")).setSchedule(flow, key, options);
  },
};

const PAUSE: CommandSpec = {
  name: "pause",
  description: "pause a schedule",
  connects: true,
  arguments: [ID],
  async run([id = ""], options: ConnectionOptions) {
    return await (await import("./schedules.ts")).pauseSchedule(id, options);
  },
};

const RESUME: CommandSpec = {
  name: "resume",
  description: "resume a schedule",
  connects: true,
  arguments: [ID],
  async run([id = ""], options: ConnectionOptions) {
    return await (await import("./schedules.ts")).resumeSchedule(id, options);
  },
};

const SKIP: CommandSpec = {
  name: "skip",
  description: "skip fires of a schedule",
  connects: true,
  arguments: [ID, { name: "[fires...]", description: "times of fires, such as 2026-01-31T06:00:00Z" }],
  options: [
    { flags: "--next <n>", description: "the next n fires that are not skipped" },
    { flags: "--undo <fire>", description: "undo the skip of a fire" },
  ],
  async run([id = "", ...fires], options: SkipOptions) {
    return await (await import("./schedules.ts")).skipFires(id, fires, options);
  },
};

export const SCHEDULES: CommandSpec = {
  name: "schedules",
  description: "look at schedules, set and pause them, skip fires",
  commands: [LS, PREVIEW, SET, PAUSE, RESUME, SKIP],
};
