/** GET /api/runs/{id}: a read, or with `wait_ms`, `until` or `since` a request that waits. */
import { refuse } from "#protocol/errors";
import { RunWaitQuery } from "#protocol/records/run";
import { parseQuery } from "#protocol/routes/query";
import type { Route } from "#protocol/routes/route";
import type { RunWaits } from "../commands/run-waits.ts";
import type { Exchange } from "../transport/transport-port.ts";
import type { Endpoint } from "./endpoint.ts";
import { readPathValue } from "./path-value.ts";
import { replyRefusal } from "./reply.ts";

export class RunEndpoint implements Endpoint {
  readonly auth: boolean;
  readonly #route: Route;
  readonly #read: Endpoint;
  readonly #waits: RunWaits;

  constructor(route: Route, read: Endpoint, waits: RunWaits) {
    this.auth = route.auth;
    this.#route = route;
    this.#read = read;
    this.#waits = waits;
  }

  serve(exchange: Exchange, values: readonly string[]): void {
    if (exchange.query === "") {
      this.#read.serve(exchange, values);
      return;
    }
    const parsed = parseQuery(RunWaitQuery, exchange.query);
    if (!parsed.ok) {
      replyRefusal(exchange, parsed.refusal);
      return;
    }
    const { wait_ms, until = "ended", since } = parsed.query;
    if (wait_ms === undefined && since === undefined) {
      this.#read.serve(exchange, values);
      return;
    }
    const value = readPathValue(this.#route, values);
    if (!value.ok) replyRefusal(exchange, value.refusal);
    else if (until !== "ended" && until !== "changed")
      replyRefusal(exchange, refuse("bad_filter", "until", "expected ended or changed"));
    else this.#waits.serve(exchange, { run: value.id, waitUs: (wait_ms ?? 0) * 1000, until, since: since ?? null });
  }
}
