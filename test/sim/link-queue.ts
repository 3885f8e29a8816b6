/**
 * The simulation's link between two threads: everything sent in one turn waits as one message until the scheduler delivers
 * it. Messages are copied when sent, as between threads; the order between two threads is kept.
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
  #sent: { sentUs: number; envelopes: Envelope[] }[] = [];
  readonly #nowUs: () => number;
  /** When the newest delivered message was sent. */
  deliveredUs = 0;
  /** No delivery before this time (monotonic). */
  stalledUntilUs = 0;

  constructor(from: string, to: string, nowUs: () => number) {
    this.#nowUs = nowUs;
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
    this.#sent.push({ sentUs: this.#nowUs(), envelopes: this.#turn });
    this.#turn = [];
  }

  /** Messages in flight; each contains everything sent in one turn. */
  get waiting(): number {
    return this.#sent.length;
  }

  deliver(host: Host): void {
    const sent = this.#sent.shift();
    if (sent === undefined) return;
    this.deliveredUs = sent.sentUs;
    for (const { to, lane, message } of sent.envelopes) host.send(to, message, lane);
  }

  /** When the messages in flight were sent. */
  get sentUs(): number[] {
    return this.#sent.map(({ sentUs }) => sentUs);
  }

  /** One end has ended: of what it sent, only messages up to `untilUs` still arrive. */
  cut(untilUs: number): void {
    this.#turn = [];
    this.#sent = this.#sent.filter(({ sentUs }) => sentUs <= untilUs);
  }
}

/** Receivers replace fields of a message but never modify nested values, so copying one level is enough. */
function copyOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null || message instanceof Error) return message;
  return { ...message };
}
