/** Messages of the dispatcher. */
import type { Command, CommandNotice } from "#protocol/command";
import type { PoolReport } from "../engines/messages.ts";
import type { ReactionMessage, ReceiverStarted } from "../rules/messages.ts";
import type { HookDone } from "../user-code/messages.ts";
import type { BackfillDraft } from "./backfill-draft.ts";

/** A process on this host has gone; `cause` says why where that is known, `details` as data. */
export interface EngineGone {
  kind: "EngineGone";
  engine_id: string;
  cause: string | null;
  details?: Record<string, unknown>;
}

/** The file of a module changed: its engines are replaced when they are idle. */
export interface ModuleChanged {
  kind: "ModuleChanged";
  source_dir: string;
  module: string;
}

/** Start time of an engine's process, as read at its first poll. */
export interface EngineSeen {
  kind: "EngineSeen";
  engine_id: string;
  pid_started: number | null;
}

/** Its own timers: the first deadline is due; the regular look at what waits. */
export interface DeadlineDue {
  kind: "DeadlineDue";
}
export interface Tick {
  kind: "Tick";
}

/** A gateway has started: nobody waits for polls of a former one, and it must learn the epoch. */
export interface GatewayStarted {
  kind: "GatewayStarted";
}

/** The server is stopping: parked polls leave, no run is created any more. */
export interface StopWork {
  kind: "StopWork";
}

/** Leases that user code gave back have freed resources. */
export interface CapacityFreed {
  kind: "CapacityFreed";
  resources: string[];
}

/** Something was committed: messages to the outside that it holds may leave. */
export interface SendOutbound {
  kind: "SendOutbound";
}

/** Something was committed while reports or cancels of backfills are applied in slices. */
export interface ContinueSlices {
  kind: "ContinueSlices";
}

/** The next slice of a report is to be applied. Id and epoch are those of its command, which fails with it. */
export interface ReportSlice {
  kind: "ReportSlice";
  id: number;
  epoch: number;
  run_id: number;
}

/** The next runs of a backfill are to be made, by a timer: what came meanwhile has its turn first. Id and epoch as in ReportSlice. */
export interface BackfillSlice {
  kind: "BackfillSlice";
  id: number;
  epoch: number;
  draft: BackfillDraft;
}

/** The next runs of a backfill are to be cancelled. Id and epoch as in ReportSlice, when somebody waits for the answer. */
export interface CancelSlice {
  kind: "CancelSlice";
  id?: number;
  epoch?: number;
  backfill_id: number;
}

export type DispatcherMessage =
  | Command
  | CommandNotice
  | EngineGone
  | PoolReport
  | ModuleChanged
  | EngineSeen
  | DeadlineDue
  | Tick
  | GatewayStarted
  | StopWork
  | CapacityFreed
  | ReactionMessage
  | SendOutbound
  | ContinueSlices
  | ReportSlice
  | BackfillSlice
  | CancelSlice
  | ReceiverStarted
  | HookDone;
