/**
 * The outbound actor: sends messages of rules to other systems.
 *
 * Messages in: stored requests. Effects out: the result of each, to the dispatcher. A request that arrives again while in
 * progress is ignored; after a crash a request is sent again, with the same idempotency key.
 */
import type { Actor } from "#runtime/actor";
import type { DeliveryRequest, OutboundDone } from "../rule-engine/rule-messages.ts";

export interface OutboundPorts {
  /** Sends the message, with retries. Rejects once `stopped`. */
  deliver(request: DeliveryRequest, stopped: AbortSignal): Promise<OutboundDone["result"]>;
  done(message: OutboundDone): void;
  close(): Promise<void>;
  /** Maximum of concurrent requests; further requests wait. */
  concurrentMax: number;
}

export class Outbound implements Actor<DeliveryRequest> {
  readonly #ports: OutboundPorts;
  readonly #stopped = new AbortController();
  /** Known requests, including waiting ones. */
  readonly #known = new Set<number>();
  readonly #waiting: DeliveryRequest[] = [];
  #underWay = 0;

  constructor(ports: OutboundPorts) {
    this.#ports = ports;
  }

  receive(message: DeliveryRequest): void {
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

  async #send(request: DeliveryRequest): Promise<void> {
    const { id, firing_id } = request;
    try {
      const result = await this.#ports.deliver(request, this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      this.#known.delete(id);
      this.#ports.done({ kind: "OutboundDone", id, firing_id, result });
    } catch (cause) {
      // Stopped: requests without a result are sent again at the next start.
      if (this.#stopped.signal.aborted) return;
      this.#known.delete(id);
      const error = cause instanceof Error ? cause.message : String(cause);
      this.#ports.done({ kind: "OutboundDone", id, firing_id, result: { error } });
    }
    this.#underWay -= 1;
    this.#startNext();
  }
}
