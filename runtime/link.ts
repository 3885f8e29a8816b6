/**
 * A link between two threads: one message port, on which everything sent in one turn crosses as one message. The wire form is
 * a flat array: name, lane, message; repeated. Messages of one sender arrive in the order they were sent.
 */
import type { MessagePort } from "node:worker_threads";
import type { Endpoint, Host } from "./host.ts";
import type { Lane } from "./mailbox.ts";

export class Link {
  readonly #port: MessagePort;
  #waiting: unknown[] = [];

  constructor(port: MessagePort, host: Host) {
    this.#port = port;
    port.on("message", (batch: unknown[]) => {
      for (let index = 0; index < batch.length; index += 3) {
        host.send(batch[index] as string, batch[index + 2], batch[index + 1] as Lane);
      }
      host.turn();
    });
  }

  /** The endpoint of an actor on the other thread. */
  endpointOf(name: string): Endpoint {
    return {
      deliver: (message, lane) => {
        this.#waiting.push(name, lane, message);
      },
      flush: () => this.#send(),
    };
  }

  close(): void {
    this.#port.close();
  }

  #send(): void {
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#port.postMessage(batch);
  }
}
