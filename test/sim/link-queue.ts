/**
 * The stand-in of a link between two threads: what one turn sent waits as one message until the scheduler delivers it.
 * Messages are copied when they are sent, as they are between threads; order between two threads is kept.
 */
import type { Endpoint, Host } from "#runtime/host";
import type { Lane } from "#runtime/mailbox";

interface Envelope {
  to: string;
  lane: Lane;
  message: unknown;
}

export class LinkQueue {
  readonly from: string;
  readonly to: string;
  #turn: Envelope[] = [];
  #sent: Envelope[][] = [];
  /** Nothing is delivered before this moment (monotonic). */
  stalledUntilUs = 0;

  constructor(from: string, to: string) {
    this.from = from;
    this.to = to;
  }

  endpointOf(name: string): Endpoint {
    return {
      deliver: (message, lane) => void this.#turn.push({ to: name, lane, message: copyOf(message) }),
      flush: () => this.flush(),
    };
  }

  flush(): void {
    if (this.#turn.length === 0) return;
    this.#sent.push(this.#turn);
    this.#turn = [];
  }

  /** Messages on their way; each is all that one turn sent. */
  get waiting(): number {
    return this.#sent.length;
  }

  deliver(host: Host): void {
    for (const { to, lane, message } of this.#sent.shift() ?? []) host.send(to, message, lane);
  }

  /** The sender has ended: of what it sent, the first `count` messages still arrive. */
  cut(count: number): void {
    this.#turn = [];
    this.#sent.length = Math.min(this.#sent.length, count);
  }
}

/** Receivers replace fields of what they get, never what lies deeper, so one level is enough. */
function copyOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null || message instanceof Error) return message;
  return { ...message };
}
