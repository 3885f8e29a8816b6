/** Messages of the dispatcher. */
import type { CommandNotice, CommandRef } from "#protocol/wire/command";
import type { ReportSlice } from "../core/state/open-reports.ts";
import type { PoolReport } from "../engine-processes/engine-process-messages.ts";
import type { ReactionMessage, ReceiverStarted } from "../rule-engine/rule-messages.ts";
import type { HookDone } from "../user-code/user-code-calls.ts";
import type { BackfillDraft } from "./backfills/backfill-draft.ts";
import type { BatchDraft } from "./creation/batch-draft.ts";

/** A process on this host is gone; `cause` is the reason if known, `details` the same as data. */
export interface EngineGone {
  kind: "EngineGone";
  engine_id: string;
  /** Of a process that was watched: another process may have taken the engine's name. Left out for the pool's own. */
  pid?: number;
  cause: string | null;
  details?: Record<string, unknown>;
}

/** The file of a module has changed: its engines are replaced once idle. */
export interface ModuleChanged {
  kind: "ModuleChanged";
  source_dir: string;
  module: string;
}

/** Start time of an engine's process, read at its first poll. */
export interface EngineSeen {
  kind: "EngineSeen";
  engine_id: string;
  pid_started: number | null;
}

/** Own timers: the first deadline; the regular check of waiting runs. */
export interface DeadlineDue {
  kind: "DeadlineDue";
}
export interface Tick {
  kind: "Tick";
}

/** A gateway has started: polls of an earlier gateway are void, and the new one needs the epoch. */
export interface GatewayStarted {
  kind: "GatewayStarted";
}

/**
 * The server is stopping: parked polls are answered with LEAVE, and no more runs are created. Each such message is answered by
 * `Staying`, so that the main thread can wait for the runs under way.
 */
export interface StopWork {
  kind: "StopWork";
}

/** User code has returned leases, which freed resources. */
export interface CapacityFreed {
  kind: "CapacityFreed";
  resources: string[];
}

/** A commit happened: held outbound messages may be sent. */
export interface SendOutbound {
  kind: "SendOutbound";
}

/** A commit happened while reports, cancels of backfills or deletions of flows are applied in slices. */
export interface ContinueSlices {
  kind: "ContinueSlices";
}

/** Make the next runs of a backfill; sent by a timer, so that messages in between are handled first. */
export interface BackfillSlice {
  kind: "BackfillSlice";
  answers: CommandRef;
  draft: BackfillDraft;
}

/** Read the next runs of a batch; sent by a timer, so that messages in between are handled first. */
export interface BatchSlice {
  kind: "BatchSlice";
  answers: CommandRef;
  draft: BatchDraft;
}

/** Cancel the next runs of a backfill; answers no command if the cancel began before the newest start of the core. */
export interface CancelSlice {
  kind: "CancelSlice";
  answers: CommandRef | null;
  backfill_id: number;
}

/** Delete the next runs of a flow that is being deleted. */
export interface DeletionSlice {
  kind: "DeletionSlice";
  answers: CommandRef | null;
  flow_id: number;
}

export type DispatcherMessage =
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
  | BatchSlice
  | CancelSlice
  | DeletionSlice
  | ReceiverStarted
  | HookDone;
