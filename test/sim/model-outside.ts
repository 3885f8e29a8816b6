/**
 * A model of the systems to which rules send messages: they answer after a while, refuse some messages, and sometimes do not
 * answer.
 */
import type { DeliveryRequest, OutboundDone } from "#actors/rule-engine/rule-messages";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";

export class ModelOutside {
  readonly #time: SimulatedTime;
  readonly #random: Random;
  readonly #calm: () => boolean;
  /** Called for every message that is sent. */
  readonly #left: (request: DeliveryRequest) => void;

  constructor(time: SimulatedTime, random: Random, calm: () => boolean, left: (request: DeliveryRequest) => void) {
    this.#time = time;
    this.#random = random;
    this.#calm = calm;
    this.#left = left;
  }

  deliver(request: DeliveryRequest, stopped: AbortSignal): Promise<OutboundDone["result"]> {
    this.#left(request);
    const isSlow = !this.#calm() && this.#random.chance(0.1);
    const delayUs = this.#random.delayUs(isSlow ? 5_000_000 : 50_000);
    const result = this.#random.chance(0.2) ? { error: "refused" } : { detail: { status: 200, attempts: 1 } };
    return new Promise((resolve, reject) => {
      const cancel = this.#time.after(delayUs, () => resolve(result));
      stopped.addEventListener("abort", () => {
        cancel();
        reject(new Error("stopped"));
      });
    });
  }
}
