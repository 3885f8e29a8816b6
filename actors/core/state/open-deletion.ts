/** A deletion of a flow that takes several steps. */
import type { Command } from "#protocol/wire/command";
import type { Run } from "./run.ts";

export interface OpenDeletion {
  /** Commands that are answered at the end. */
  readonly commands: Command[];
  /** Runs that were taken out of the queue at its begin. */
  readonly taken: readonly Run[];
  /** The step that made the newest slice. */
  wroteTurn: number;
  /** True while the message for the next slice is on its way. */
  called: boolean;
}
