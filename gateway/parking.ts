/**
 * Long-polls: requests that wait for work or for a lease.
 *
 * The core decides what a poll gets; the gateway keeps its connection and its time. A parked poll costs its memory and a place
 * in the deadline wheel. Three notices tell the core what happened at this end: the time is over (it answers now), the client
 * went away, or an answer found nobody.
 */
import { COMMANDS, type CommandKind, type CommandNotice } from "#protocol/command";
import { WAIT_MS_MAX } from "#protocol/limits";
import type { PendingCommand } from "./pending-command.ts";

/** Commands whose answer hands something over, or whose client asks again when it has not seen the answer. */
const HANDS_OVER: ReadonlySet<CommandKind> = new Set<CommandKind>(["Work", "AcquireLease", "TransitionRun"]);
const PARKS: ReadonlySet<CommandKind> = new Set<CommandKind>(["Work", "AcquireLease"]);

/** How long a request may be parked, in microseconds, by the `wait_ms` of its body; null where it is no long-poll. */
export function parkingTimeUs(kind: CommandKind, body: unknown): number | null {
  if (!PARKS.has(kind)) return null;
  const waitMs = (body as { wait_ms?: number | null }).wait_ms ?? 0;
  return Math.min(waitMs, WAIT_MS_MAX) * 1000;
}

export class Parking {
  readonly #send: (actor: string, notice: CommandNotice) => void;

  constructor(send: (actor: string, notice: CommandNotice) => void) {
    this.#send = send;
  }

  /** Its waiting time is over. */
  expire(poll: PendingCommand): void {
    this.#notify("Expired", poll);
  }

  /** The client left a command that was sent. */
  abandon(pending: PendingCommand): void {
    if (PARKS.has(pending.kind)) this.#notify("Abandoned", pending);
  }

  /** The answer came after the client had gone. */
  undelivered(pending: PendingCommand): void {
    if (HANDS_OVER.has(pending.kind)) this.#notify("Undelivered", pending);
  }

  #notify(kind: CommandNotice["kind"], pending: PendingCommand): void {
    this.#send(COMMANDS[pending.kind].actor, { kind, epoch: pending.sentEpoch, command: pending.id });
  }
}
