/** Requests to a server that is killed now and then: each is sent until it is answered, and some are sent twice at once. */
import { setTimeout as pause } from "node:timers/promises";
import { MillraceError } from "#sdk/client/index";
import type { Random } from "../../sim/random.ts";
import type { Check } from "../check.ts";
import type { DisturbedFolder } from "./disturbed-folder.ts";

const DISTURBED_MS = 30_000;
const DISTURBANCES = { none: 3, engine: 3, server: 3 } as const;
const PAUSE_BELOW_MS = 600;
const TWICE = 0.3;
const REPEAT_MS = 50;

/** What a request causes, and how often beside the others. */
type Weights<Cause extends string> = Readonly<Record<Cause, number>>;

/** Sends the request of this cause and number; false if it has to be repeated. */
type Send<Cause> = (cause: Cause, n: number) => Promise<boolean>;

export class RepeatedRequests<Cause extends string> {
  /** How many of each cause were added: they are numbered from 0. */
  readonly added: Record<Cause, number>;
  repeated = 0;
  readonly #weights: Weights<Cause>;
  readonly #send: Send<Cause>;
  readonly #random: Random;
  readonly #check: Check;
  readonly #sending = new Set<Promise<unknown>>();

  constructor(weights: Weights<Cause>, { random, check }: { random: Random; check: Check }, send: Send<Cause>) {
    this.#weights = weights;
    this.#send = send;
    this.#random = random;
    this.#check = check;
    this.added = Object.fromEntries(Object.keys(weights).map((cause) => [cause, 0])) as Record<Cause, number>;
  }

  /** Sends fewer than `below` requests at a time while server and engines are killed; resolves once all are answered. */
  async sendWhileDisturbed(disturbed: DisturbedFolder, below: number): Promise<void> {
    for (const fromMs = performance.now(); performance.now() < fromMs + DISTURBED_MS; ) {
      for (let left = this.#random.below(below); left > 0; left -= 1) this.#add();
      await pause(this.#random.below(PAUSE_BELOW_MS));
      const kind = this.#random.weighted(DISTURBANCES);
      if (kind !== "none") await disturbed.disturb(kind);
    }
    await Promise.all(this.#sending);
  }

  /** Sends the next request of a cause by chance. */
  #add(): void {
    const cause = this.#random.weighted(this.#weights);
    const n = this.added[cause];
    this.added[cause] += 1;
    for (let times = this.#random.chance(TWICE) ? 2 : 1; times > 0; times -= 1) {
      const sent = this.#sendUntilAnswered(cause, n);
      this.#sending.add(sent);
      void sent.then(() => this.#sending.delete(sent));
    }
  }

  async #sendUntilAnswered(cause: Cause, n: number): Promise<void> {
    for (;;) {
      try {
        if (await this.#send(cause, n)) return;
      } catch (error) {
        const isAway = error instanceof MillraceError && (error.status === 0 || error.status === 503);
        if (!isAway) return this.#check.that(false, `${cause} ${n} was refused: ${String(error)}`);
      }
      this.repeated += 1;
      await pause(REPEAT_MS);
    }
  }
}
