/** GET /api/ready: whether this server takes work, and if not, why. For load balancers, containers and start scripts. */
import type { Ready } from "#protocol/records/server";
import type { Exchange } from "../transport/transport-port.ts";
import { reply } from "./reply.ts";

export class Readiness {
  /** As the main thread reported it. */
  #reason: string | null = "starting: flow files are being read";

  report(reason: string | null): void {
    this.#reason = reason;
  }

  /** @param problem why commands cannot be decided now, or null */
  serve(exchange: Exchange, problem: string | null): void {
    const reason = this.#reason ?? problem;
    reply(exchange, reason === null ? 200 : 503, JSON.stringify({ ready: reason === null, reason } satisfies Ready));
  }
}
