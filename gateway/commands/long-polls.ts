/**
 * Long-polls: requests that wait for work or for a lease.
 *
 * The core decides the answer to a poll; the gateway keeps the connection and the waiting time. A parked poll costs its
 * memory and an entry of the deadline wheel. Three notices inform the core: the waiting time is over (Expired; the core
 * answers now), the client disconnected (Abandoned), or an answer could not be delivered (Undelivered).
 */

import { WAIT_MS_MAX } from "#protocol/limits";
import { COMMANDS, type CommandKind, type CommandNotice } from "#protocol/wire/command";
import type { PendingCommand } from "./pending-command.ts";

/**
 * The parking time of a request in microseconds, from `wait_ms` in its body; null if it is no long-poll. A body that the core
 * parses has none: the core answers at once or holds the request for the longest time.
 */
export function parkingTimeUs(kind: CommandKind, body: unknown): number | null {
  if (!COMMANDS[kind].parks) return null;
  if (typeof body === "string") return WAIT_MS_MAX * 1000;
  const waitMs = (body as { wait_ms?: number | null }).wait_ms ?? 0;
  return Math.min(waitMs, WAIT_MS_MAX) * 1000;
}

export class Parking {
  readonly #send: (actor: string, notice: CommandNotice) => void;

  constructor(send: (actor: string, notice: CommandNotice) => void) {
    this.#send = send;
  }

  /** The waiting time is over. */
  expire(poll: PendingCommand): void {
    this.#notify("Expired", poll);
  }

  /** The client of a sent command disconnected. */
  abandon(pending: PendingCommand): void {
    if (COMMANDS[pending.kind].parks) this.#notify("Abandoned", pending);
  }

  /** The answer arrived after the client had disconnected. */
  undelivered(pending: PendingCommand): void {
    if (COMMANDS[pending.kind].reportsUndelivered) this.#notify("Undelivered", pending);
  }

  #notify(kind: CommandNotice["kind"], pending: PendingCommand): void {
    this.#send(COMMANDS[pending.kind].actor, { kind, epoch: pending.sentEpoch, command: pending.id });
  }
}
