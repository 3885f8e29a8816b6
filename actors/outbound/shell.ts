/**
 * The outbound actor: sends messages of rules to other systems.
 *
 * Messages in: requests that are stored already. Effects out: what became of each, to the dispatcher. A request that comes
 * again while it is under way is one and the same; after a crash it is sent again, under the same idempotency key.
 */
import type { Actor } from "#runtime/actor";
import type { OutboundDone, OutboundRequest } from "../rules/messages.ts";

export interface OutboundPorts {
  /** Sends it, in as many tries as it takes. Rejects once it is `stopped`. */
  deliver(request: OutboundRequest, stopped: AbortSignal): Promise<OutboundDone["result"]>;
  done(message: OutboundDone): void;
  close(): Promise<void>;
  /** Requests under way at once; further ones wait. */
  concurrentMax: number;
}

export class Outbound implements Actor<OutboundRequest> {
  readonly #ports: OutboundPorts;
  readonly #stopped = new AbortController();
  /** Known requests, those that wait included. */
  readonly #known = new Set<number>();
  readonly #waiting: OutboundRequest[] = [];
  #underWay = 0;

  constructor(ports: OutboundPorts) {
    this.#ports = ports;
  }

  receive(message: OutboundRequest): void {
    if (this.#known.has(message.id)) return;
    this.#known.add(message.id);
    this.#waiting.push(message);
    this.#startNext();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#ports.close();
  }

  #startNext(): void {
    while (this.#underWay < this.#ports.concurrentMax) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#underWay += 1;
      void this.#send(next);
    }
  }

  async #send(request: OutboundRequest): Promise<void> {
    const { id, firing_id } = request;
    try {
      const result = await this.#ports.deliver(request, this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      this.#known.delete(id);
      this.#ports.done({ kind: "OutboundDone", id, firing_id, result });
    } catch (cause) {
      // Stopped: what is not answered is sent again at the next start.
      if (this.#stopped.signal.aborted) return;
      this.#known.delete(id);
      const error = cause instanceof Error ? cause.message : String(cause);
      this.#ports.done({ kind: "OutboundDone", id, firing_id, result: { error } });
    }
    this.#underWay -= 1;
    this.#startNext();
  }
}
