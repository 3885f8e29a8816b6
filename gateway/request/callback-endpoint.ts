/**
 * The URLs of callbacks. Their requests come without a token of the server, so a token that is not open is refused at the head,
 * before the body, and so many of these are answered in a second. What an open token sends, the dispatcher decides.
 */
import { refuse } from "#protocol/errors";
import { CALLBACK_MISSES } from "#protocol/limits";
import type { Exchange } from "../transport/transport-port.ts";
import type { Endpoint } from "./endpoint.ts";
import { replyRefusal } from "./reply.ts";

const PATH = "/api/callbacks/";

export interface CallbackPorts {
  isOpen(token: string): boolean;
  /** Monotonic time in microseconds. */
  now(): number;
}

export class CallbackEndpoint implements Endpoint {
  readonly auth = false;
  readonly #command: Endpoint;
  readonly #ports: CallbackPorts;
  readonly #misses: RateLimit;

  constructor(command: Endpoint, ports: CallbackPorts) {
    this.#command = command;
    this.#ports = ports;
    this.#misses = new RateLimit(CALLBACK_MISSES, ports.now());
  }

  serve(exchange: Exchange, values: readonly string[]): void {
    // First, so that a flood of guesses keeps out no caller that knows its token.
    if (this.#ports.isOpen(values[0] ?? "")) return this.#command.serve(exchange, values);
    if (!this.#misses.allows(this.#ports.now())) return replyRefusal(exchange, refuse("too_many_callbacks"));
    this.#misses.count();
    replyRefusal(exchange, refuse("not_found"));
  }
}

/** So many at once, and so many more per second. */
class RateLimit {
  readonly #perSecond: number;
  readonly #atOnce: number;
  #left: number;
  #countedUs: number;

  constructor({ perSecond, atOnce }: { perSecond: number; atOnce: number }, nowUs: number) {
    this.#perSecond = perSecond;
    this.#atOnce = atOnce;
    this.#left = atOnce;
    this.#countedUs = nowUs;
  }

  allows(nowUs: number): boolean {
    this.#left = Math.min(this.#atOnce, this.#left + ((nowUs - this.#countedUs) / 1e6) * this.#perSecond);
    this.#countedUs = nowUs;
    return this.#left >= 1;
  }

  count(): void {
    this.#left -= 1;
  }
}

/** A path for logs, without the token of a callback. */
export function withoutToken(path: string): string {
  return path.startsWith(PATH) ? `${PATH}...` : path;
}
