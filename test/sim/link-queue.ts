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
  #sent: { sentUs: number; envelopes: Envelope[] }[] = [];
  readonly #nowUs: () => number;
  /** When the newest message that has arrived was sent. */
  deliveredUs = 0;
  /** Nothing is delivered before this moment (monotonic). */
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

  /** Messages on their way; each is all that one turn sent. */
  get waiting(): number {
    return this.#sent.length;
  }

  deliver(host: Host): void {
    const sent = this.#sent.shift();
    if (sent === undefined) return;
    this.deliveredUs = sent.sentUs;
    for (const { to, lane, message } of sent.envelopes) host.send(to, message, lane);
  }

  /** When what is on its way was sent. */
  get sentUs(): number[] {
    return this.#sent.map(({ sentUs }) => sentUs);
  }

  /** One end is no more: of what was sent, only that up to a moment still arrives. */
  cut(untilUs: number): void {
    this.#turn = [];
    this.#sent = this.#sent.filter(({ sentUs }) => sentUs <= untilUs);
  }
}

/** Receivers replace fields of what they get, never what lies deeper, so one level is enough. */
function copyOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null || message instanceof Error) return message;
  return { ...message };
}
