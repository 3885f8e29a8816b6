/** The messages of the group's actors: which command the step over a message decides, and which start of the group it is for. */
import { COMMANDS, type Command, type CommandRef, isCommand } from "#protocol/wire/command";
import type { DispatcherMessage } from "../dispatcher/dispatcher-messages.ts";
import type { LeasesMessage } from "../lease-manager/lease-manager.ts";
import type { RecordsMessage } from "../records/records.ts";
import type { SchedulerMessage } from "../scheduler/scheduler-messages.ts";

export type GroupMessage = Command | DispatcherMessage | LeasesMessage | RecordsMessage | SchedulerMessage;

/** The command that is answered 500 if the step over this message fails; null if the step decides no command. */
export function answeredBy(message: GroupMessage): CommandRef | null {
  if (isCommand(message)) return message;
  return "answers" in message ? message.answers : null;
}

/**
 * The start of the group that a command, a notice or a part of a command is meant for; null for messages of any start. The
 * gateway resends unanswered commands to the next start.
 */
export function epochOf(message: GroupMessage): number | null {
  if ("epoch" in message) return message.epoch;
  return "answers" in message ? (message.answers?.epoch ?? null) : null;
}

/** Besides reads: messages handled in the read-only state, because they concern no stored row. */
const FREE_OF_ROWS: ReadonlySet<string> = new Set<GroupMessage["kind"]>([
  "CustomRoutes",
  "CodeProblems",
  "Listening",
  "Figures",
  "GatewayStarted",
  "StopWork",
]);
/** Messages of discovery, which are sent only once. */
const FOUND: ReadonlySet<string> = new Set<GroupMessage["kind"]>(["RegisterFlows", "ReloadCode", "RegisterRules"]);

export function changesNothing(message: GroupMessage): boolean {
  return isCommand(message) ? !COMMANDS[message.kind].writes : FREE_OF_ROWS.has(message.kind);
}

export function isOfDiscovery({ kind }: GroupMessage): boolean {
  return FOUND.has(kind);
}
