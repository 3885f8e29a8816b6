/**
 * Calls operations of the route table through the same commands and queries as HTTP requests.
 */

import { MCP_PAGE_BYTES_MAX } from "#protocol/limits";
import type { Route } from "#protocol/routes/route";
import { ROUTES } from "#protocol/routes/routes";
import { canonicalJson, parseKeepingFractions } from "#protocol/values/json";
import { COMMANDS } from "#protocol/wire/command";
import type { OutstandingCommands } from "../commands/outstanding-commands.ts";
import type { RunWaits } from "../commands/run-waits.ts";
import { READS } from "../reads/read-table.ts";
import type { Reads } from "../reads/reads.ts";
import { InnerExchange, type InnerOutcome } from "../request/inner-exchange.ts";
import { parseBody } from "../request/json-body.ts";
import { replyRefusal } from "../request/reply.ts";
import { failureOf } from "./tool-failure.ts";

/** Arguments of an operation; parts that the operation does not take are omitted. */
export interface ApiRequest {
  /** The `{id}` of the path. */
  id?: number;
  /** The name in the path, or the second part that is one. */
  name?: string;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
}

/** Calls an operation and returns its answer as a value. Throws a ToolFailure. */
export type AskApi = (operation: string, request?: ApiRequest) => Promise<unknown>;

const BY_OPERATION: ReadonlyMap<string, Route> = new Map(ROUTES.map((route) => [route.operation, route]));

export interface CallPorts {
  commands: OutstandingCommands;
  reads: Reads;
  waits: RunWaits;
}

/** The calls made for one outer request. */
export class ApiCalls {
  readonly #commands: OutstandingCommands;
  readonly #reads: Reads;
  readonly #waits: RunWaits;
  readonly #client: string;
  readonly #local: boolean;
  #open: InnerExchange | null = null;
  #left = false;

  constructor({ commands, reads, waits }: CallPorts, client: string, local: boolean) {
    this.#commands = commands;
    this.#reads = reads;
    this.#waits = waits;
    this.#client = client;
    this.#local = local;
  }

  readonly ask: AskApi = async (operation, request = {}) => {
    const route = BY_OPERATION.get(operation);
    if (route === undefined) throw new Error(`there is no operation ${operation}`);
    const outcome = await this.#outcome(route, request);
    if (outcome.kind === "left") throw new ClientLeft();
    if (outcome.kind !== "answered" || outcome.status >= 400) throw failureOf(operation, outcome);
    return outcome.body === "" ? null : parseKeepingFractions(outcome.body);
  };

  /** The outer client disconnected: abandons calls in progress and starts no further call. */
  leave(): void {
    this.#left = true;
    this.#open?.leave();
  }

  #outcome(route: Route, request: ApiRequest): Promise<InnerOutcome> {
    if (this.#left) return Promise.resolve({ kind: "left" });
    return new Promise((resolve) => {
      const exchange = new InnerExchange(this.#local, resolve);
      this.#open = exchange;
      this.#serve(exchange, route, request);
    });
  }

  #serve(exchange: InnerExchange, route: Route, { id = 0, name, query = {}, body }: ApiRequest): void {
    if (route.operation === "getRun" && typeof query["wait_ms"] === "number") {
      this.#waits.serve(exchange, { run: id, waitUs: query["wait_ms"] * 1000, until: "ended", since: null });
      return;
    }
    const read = READS[route.operation];
    if (read !== undefined) {
      this.#reads.answer(exchange, read, { id, name: "" }, { ...defaultsOf(route), ...defined(query) }, MCP_PAGE_BYTES_MAX);
      return;
    }
    const kind = route.command;
    if (kind === undefined) throw new Error(`${route.operation} is answered by HTTP alone`);
    const content = bodyOf(route, COMMANDS[kind].parsed === "core", body);
    if (!content.ok) {
      replyRefusal(exchange, content.refusal);
      return;
    }
    // The memory is counted with the outer request, which lasts longer.
    const target = { target: id, ...(name !== undefined && { name }) };
    const whole = { kind, ...target, body: content.value, bytes: 0, waitUs: null, idempotency: null, mcpClient: this.#client };
    this.#commands.submit(whole, exchange);
  }
}

/** The outer client no longer waits for the answer. */
export class ClientLeft extends Error {
  override readonly name = "ClientLeft";
}

function bodyOf({ body: schema }: Route, asText: boolean, body: unknown): ReturnType<typeof parseBody> {
  if (schema === undefined) return { ok: true, value: null };
  const text = canonicalJson(body);
  return asText ? { ok: true, value: text } : parseBody(text, schema);
}

/** Defaults of the query, as for a request without a query string. */
function defaultsOf({ query }: Route): Record<string, unknown> {
  const { properties = {} } = (query ?? {}) as { properties?: Record<string, { default?: unknown }> };
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => (schema.default === undefined ? [] : [[name, schema.default]])),
  );
}

function defined(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
