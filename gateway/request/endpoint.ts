/** What is served at a method and path: built once, so that a request only needs a look-up and a call. */
import { createHash } from "node:crypto";
import { Refusal, refuse } from "#protocol/errors";
import { IDEMPOTENCY_KEY_LENGTH_MAX, PARSE_ON_CORE_BYTES_MAX } from "#protocol/limits";
import { RULE_DEPTH_HEADER } from "#protocol/records/rule";
import { NewRunQuery } from "#protocol/records/run";
import { parsePathId, parseQuery } from "#protocol/routes/query";
import type { Route } from "#protocol/routes/route";
import { UnknownFields } from "#protocol/routes/unknown-fields";
import { readTraceparent, traceparentOf } from "#protocol/values/traceparent";
import { COMMANDS, type CommandKind } from "#protocol/wire/command";
import { parkingTimeUs } from "../commands/long-polls.ts";
import type { OutstandingCommands } from "../commands/outstanding-commands.ts";
import type { Exchange } from "../transport/transport-port.ts";
import { BodyReader, type BodyTaker, hasBody, isJson, type RequestHead } from "./body.ts";
import { parseBody } from "./json-body.ts";
import { readPathValue } from "./path-value.ts";
import { replyRefusal } from "./reply.ts";

export interface Endpoint {
  /** False only for routes without a token. */
  readonly auth: boolean;
  /** `values`: the path parameters, in order, not decoded. */
  serve(exchange: Exchange, values: readonly string[]): void;
}

/** A large body that a reader thread checked; `digest` stands for its text in the fingerprint of the request. */
export type ParsedLargeBody = { ok: true; value: unknown; digest: string } | { ok: false; refusal: Refusal };

/** Slices large bodies; never rejects its promise, but may return a refusal. */
export interface BodySlicer {
  sliceBody(kind: CommandKind, text: SharedArrayBuffer): Promise<ParsedLargeBody>;
}

/** What path and query contain. */
interface Asked {
  target: number;
  name: string;
  body: unknown;
  endWaitUs: number;
}

const DEPTH = /^\d{1,3}$/;

/** An endpoint whose requests an actor decides. */
export class CommandEndpoint implements Endpoint, BodyTaker {
  readonly auth: boolean;
  readonly #route: Route;
  readonly #kind: CommandKind;
  readonly #isOfEngines: boolean;
  readonly #parsedHere: boolean;
  readonly #commands: OutstandingCommands;
  readonly #slicer: BodySlicer;
  readonly #unknown = new UnknownFields();
  readonly #warn: (text: string) => void;
  /** Bodies of sliced commands that are longer are taken as bytes; other bodies never are. */
  readonly largeAbove: number;

  constructor(route: Route, kind: CommandKind, commands: OutstandingCommands, slicer: BodySlicer, warn: (text: string) => void) {
    this.auth = route.auth;
    this.#route = route;
    this.#kind = kind;
    this.#isOfEngines = route.path.startsWith("/api/engine/");
    this.#parsedHere = COMMANDS[kind].parsed === "gateway";
    this.#commands = commands;
    this.#slicer = slicer;
    this.#warn = warn;
    this.largeAbove = COMMANDS[kind].sliced ? PARSE_ON_CORE_BYTES_MAX : Number.POSITIVE_INFINITY;
  }

  serve(exchange: Exchange, values: readonly string[]): void {
    const asked = this.#readTarget(exchange, values);
    if (asked instanceof Refusal) {
      replyRefusal(exchange, asked);
      return;
    }
    if (!this.#acceptsType(exchange)) {
      replyRefusal(exchange, refuse("not_json"));
      return;
    }
    const key = this.#route.idempotency_key ? exchange.header("idempotency-key") : "";
    if (key.length > IDEMPOTENCY_KEY_LENGTH_MAX) {
      replyRefusal(exchange, refuse("bad_idempotency_key", IDEMPOTENCY_KEY_LENGTH_MAX));
      return;
    }
    const head: RequestHead = { target: asked.target, name: asked.name, key, ruleDepth: this.#ruleDepth(exchange) };
    if (asked.endWaitUs > 0) head.endWaitUs = asked.endWaitUs;
    if (this.#route.traceparent) readTrace(exchange, head);
    const { body, body_required } = this.#route;
    if (body === undefined || !(body_required || hasBody(exchange))) this.#submit(exchange, head, asked.body, "", 0);
    else new BodyReader(exchange, this.#commands.bodies, this, head, this.#route.body_bytes_max).start();
  }

  /** Reads path and query. Further path parameters, or the query, are passed as the body. */
  #readTarget(exchange: Exchange, values: readonly string[]): Asked | Refusal {
    const first = readPathValue(this.#route, values);
    if (!first.ok) return first.refusal;
    const { id: target, name } = first;
    const rest: Record<string, number> = {};
    for (const [index, parameter] of this.#route.path_parameters.entries()) {
      if (index === 0 || parameter.type === "string") continue;
      const parsed = parsePathId(parameter.name, values[index] ?? "");
      if (!parsed.ok) return parsed.refusal;
      rest[parameter.name] = parsed.id;
    }
    const body = Object.keys(rest).length > 0 ? rest : null;
    const { query } = this.#route;
    if (query === undefined || (query === NewRunQuery && exchange.query === "")) return { target, name, body, endWaitUs: 0 };
    const parsed = parseQuery(query, exchange.query);
    if (!parsed.ok) return parsed.refusal;
    const { wait_ms = 0 } = query === NewRunQuery ? (parsed.query as { wait_ms?: number }) : {};
    return { target, name, body: parsed.query, endWaitUs: wait_ms * 1000 };
  }

  /** No memory for the body. */
  busy(exchange: Exchange): void {
    if (COMMANDS[this.#kind].refusable) replyRefusal(exchange, refuse("busy"));
    else exchange.cut();
  }

  take(exchange: Exchange, head: RequestHead, text: string, bytes: number): void {
    if (!this.#parsedHere || this.#route.body === undefined) {
      this.#submit(exchange, head, text, text, bytes);
      return;
    }
    const parsed = parseBody(text, this.#route.body);
    if (parsed.ok) {
      const { method, path, body } = this.#route;
      const line = this.#isOfEngines ? null : this.#unknown.line(`${method} ${path}`, body, parsed.value);
      if (line !== null) this.#warn(line);
      this.#submit(exchange, head, parsed.value, text, bytes);
      return;
    }
    this.#commands.bodies.giveBytes(bytes);
    replyRefusal(exchange, parsed.refusal);
  }

  /** A large body is checked in a reader thread; the core gets slices. */
  takeLarge(exchange: Exchange, head: RequestHead, body: SharedArrayBuffer, bytes: number): void {
    void this.#slice(exchange, head, body, bytes);
  }

  async #slice(exchange: Exchange, head: RequestHead, text: SharedArrayBuffer, bytes: number): Promise<void> {
    const sliced = await this.#slicer.sliceBody(this.#kind, text);
    if (sliced.ok && exchange.open) {
      this.#submit(exchange, head, sliced.value, sliced.digest, bytes);
      return;
    }
    this.#commands.bodies.giveBytes(bytes);
    if (!sliced.ok) replyRefusal(exchange, sliced.refusal);
  }

  /** Routes with a body require Content-Type: application/json, so that an HTML form cannot post to them. */
  #acceptsType(exchange: Exchange): boolean {
    if (this.#route.method === "GET") return true;
    if (isJson(exchange.header("content-type"))) return true;
    return !this.#route.body_required && !hasBody(exchange);
  }

  /**
   * The chain length of a request made by a rule's message. Engines send many requests and never one of these, so the
   * header is not read for engine routes.
   */
  #ruleDepth(exchange: Exchange): number {
    if (this.#isOfEngines) return 0;
    const said = exchange.header(RULE_DEPTH_HEADER);
    return DEPTH.test(said) ? Number(said) : 0;
  }

  /** `text` is the body as received, or its digest: the hash distinguishes a retry from another request with the same Idempotency-Key. */
  #submit(exchange: Exchange, head: RequestHead, body: unknown, text: string, bytes: number): void {
    const { target, name, key, ruleDepth, traceparent, endWaitUs = 0 } = head;
    const idempotency = key === "" ? null : { key, fingerprint: fingerprintOf(this.#kind, target, text) };
    const kind = this.#kind;
    const waitUs = parkingTimeUs(kind, body);
    const request = { kind, target, name, body, bytes, waitUs, endWaitUs, idempotency, ruleDepth, traceparent };
    this.#commands.submit(request, exchange);
  }
}

/** A header that is not valid is ignored (W3C Trace Context, "Processing model"). */
function readTrace(exchange: Exchange, head: RequestHead): void {
  const parent = readTraceparent(exchange.header("traceparent"));
  if (parent !== null) head.traceparent = traceparentOf(parent);
}

function fingerprintOf(kind: CommandKind, target: number, text: string): string {
  return createHash("sha256").update(`${kind}\n${target}\n${text}`).digest("base64url");
}

/** A request that the gateway answers itself. */
export class LocalEndpoint implements Endpoint {
  readonly auth: boolean;
  readonly serve: (exchange: Exchange) => void;

  constructor(auth: boolean, serve: (exchange: Exchange) => void) {
    this.auth = auth;
    this.serve = serve;
  }
}
