/**
 * An answer sent in parts: the next part is requested when the connection has taken the last, so that a client that reads
 * slowly costs no more than one part. The unsent bytes of all connections together are bounded.
 */
import { ANSWERS_UNSENT_BYTES_MAX } from "#protocol/limits";
import { beginReply } from "../request/reply.ts";
import type { Exchange, ExchangeWatcher } from "./transport-port.ts";

export interface SentPart {
  body: string | Uint8Array;
  /** Makes the next part; null after the last part. */
  next: (() => Promise<SentPart>) | null;
}

/** Bytes of answers that connections have not taken. */
export class UnsentBytes {
  #bytes = 0;

  get exhausted(): boolean {
    return this.#bytes >= ANSWERS_UNSENT_BYTES_MAX;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

export interface StreamPorts {
  unsent: UnsentBytes;
  /** Called for an answer that cannot be completed. */
  failed(exchange: Exchange, cause: unknown): void;
}

export class StreamedAnswer implements ExchangeWatcher {
  readonly #exchange: Exchange;
  readonly #ports: StreamPorts;
  #next: SentPart["next"] = null;
  /** Bytes of the part that the connection has not taken. */
  #waiting = 0;

  private constructor(exchange: Exchange, ports: StreamPorts) {
    this.#exchange = exchange;
    this.#ports = ports;
  }

  static begin(exchange: Exchange, ports: StreamPorts, first: SentPart): void {
    const answer = new StreamedAnswer(exchange, ports);
    exchange.watch(answer);
    answer.#sent(first, beginReply(exchange, first.body));
  }

  data(): void {}

  aborted(): void {
    this.#settle();
  }

  writable(): void {
    if (this.#waiting === 0) return;
    this.#settle();
    this.#goOn();
  }

  #sent({ body, next }: SentPart, taken: boolean): void {
    this.#next = next;
    if (!this.#exchange.open) return;
    if (taken) {
      this.#goOn();
      return;
    }
    this.#waiting = body.length;
    this.#ports.unsent.add(this.#waiting);
  }

  #settle(): void {
    this.#ports.unsent.add(-this.#waiting);
    this.#waiting = 0;
  }

  #goOn(): void {
    if (this.#next === null) {
      this.#exchange.end();
      return;
    }
    this.#next().then(
      (part) => {
        if (this.#exchange.open) this.#sent(part, this.#exchange.write(part.body));
      },
      (cause: unknown) => {
        if (this.#exchange.open) this.#ports.failed(this.#exchange, cause);
      },
    );
  }
}
