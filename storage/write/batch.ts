/**
 * Batches: what the core asks the writer to commit, and the writer's results. A batch has a number, so that resending it
 * after a crash of the writer changes nothing.
 */
import { eventAnswers, type Primitive } from "#protocol/wire/feed";

/** The outcome of deciding one or more commands: rows, answers and stream messages that are committed together. */
export interface Decision {
  /** Row operations, flat (storage/write/ops.ts). */
  ops: Primitive[];
  /** Log lines to append, flat: run id, attempt, number of lines, level mask, lines as JSON text; repeated. */
  logs: Primitive[];
  /** Answers, flat: command id, HTTP status, body; repeated. */
  replies: Primitive[];
  /** Stream messages, flat: kind code, id; repeated. */
  stream: Primitive[];
  /** Run ids of stream messages (Committed.runs). */
  runs: number[];
}

/** Decisions sent to the writer. Lines of `logs` are arrays [task_run_id|null, level, logger, timestamp, message]. */
export interface Batch extends Decision {
  kind: "Batch";
  /** The number of its commit: the next one of the store. A batch without changes is not committed and leaves it to the next. */
  number: number;
  /** The start of the writers that this batch was sent to; later writers drop the batch, because it is resent to them. */
  generation: number;
  /**
   * Refusals of these writers that the commit client had heard of. The client gives up the batch in flight at a refusal, so
   * the store writer drops a batch that was sent before the client heard of the newest refusal.
   */
  refusals: number;
  /** When the core decided the batch, by the clock that retention uses. */
  received_us?: number;
  /** Set on the batch that announces a start of the core; the feed forwards it as Reloaded. */
  epoch: number | null;
}

/** The writer's result for a batch. */
export type BatchOutcome =
  /** `took_us`: duration of the transaction; null for a batch without changes. */
  | { kind: "Acknowledged"; number: number; first_event_id: number; last_seq: number; took_us: number | null }
  /** `number`: of the newest commit. */
  | { kind: "Rejected"; number: number; refusals: number; error: string; disk_full: boolean };

/**
 * Bit of a log level in a level mask: 10 debug, 20 info, 30 warning, 40 error, 50 critical; other levels count as the next
 * lower one.
 */
export function levelBit(level: number): number {
  return 1 << Math.max(0, Math.min(5, Math.floor(level / 10)));
}

/** False for a decision with answers only, which passes even while the store rejects writes. */
export function changesRows({ ops, logs, stream }: Decision): boolean {
  return ops.length + logs.length + stream.length > 0;
}

/** Ids of the commands that a batch answers, including those answered with an event. */
export function commandsOf({ stream, replies }: Decision): number[] {
  const commands = eventAnswers({ stream, first_event_id: 0 }).map(([command]) => command);
  for (let index = 0; index < replies.length; index += 3) commands.push(Number(replies[index]));
  return commands;
}

export function emptyDecision(): Decision {
  return { ops: [], logs: [], replies: [], stream: [], runs: [] };
}
