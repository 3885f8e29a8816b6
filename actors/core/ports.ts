/** What the actors of the dispatch group are given. */
import type { Durations } from "#runtime/durations";
import type { IdSource } from "../ids.ts";
import type { Quarantine } from "../rule-engine/reactions/quarantine.ts";
import type { Secrets } from "./secrets.ts";

export interface GroupPorts {
  nowUs(): number;
  ids: IdSource;
  /** The current start of the core; commands must carry it. */
  readonly epoch: number;
  /** Number of the newest step whose decision is committed. */
  committedTurn(): number;
  /** Sends the epoch to the gateway, behind everything committed so far. */
  announceEpoch(): void;
  /** The newest stream number. */
  lastSeq(): number;
  /** Durations of the transactions. */
  readonly commits: Durations;
  /** The number for the next step, shared by the actors of the group. */
  nextTurn(): number;
  /** The point at which rules last crashed an actor. */
  readonly quarantine: Quarantine;
  /** The key of the home. */
  readonly secrets: Secrets;
  /** Whether a message is to be handled. A rejected message is sent again after the reload, or the reload finds its content. */
  takes(message: object): boolean;
  /**
   * True when the group was loaded while the store rejects writes: it answers reads, and reloads once the store accepts
   * writes.
   */
  readonly readOnly: boolean;
}
