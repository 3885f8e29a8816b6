import { ROUTE_MS_MAX } from "#protocol/limits";
import { type CustomMethod, checkCustomRoute } from "#protocol/routes/custom-route";
import { type Duration, parseDuration } from "../duration.ts";
import type { HookFunction } from "./hook.ts";

/** Values of the parameters of a path: `{ name: string }` for "/hooks/{name}". */
export type PathParameters<Path extends string> = string extends Path
  ? Record<string, string>
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? { [Key in Name]: string } & PathParameters<Rest>
    : unknown;

/** The second argument of a handler, beside the request. */
export interface RouteContext<Parameters = Record<string, string>> {
  /** Values of the path's parameters, decoded. */
  params: Parameters;
  /** Aborts when the client disconnects or the time limit passes. */
  signal: AbortSignal;
}

/**
 * Answers one request. A Response is sent unchanged; any other value as JSON with status 200, undefined as 204. A thrown error
 * is answered 500 with its message.
 */
export type RouteHandler<Parameters = Record<string, string>> = (request: Request, context: RouteContext<Parameters>) => unknown;

/** Options of `route`. */
export interface RouteOptions {
  /** Time limit of one request, at most 5 minutes; the client then gets 504. Default "30s". */
  timeout?: Duration;
}

/** A declared route. */
export interface RouteDefinition {
  method: CustomMethod;
  path: string;
  limitMs: number;
  handler: RouteHandler;
  /** The function of an incoming hook, which the handler calls with each verified delivery; null for a route. */
  hook: HookFunction | null;
}

const DEFINITION = Symbol.for("millrace.route");
/** Time limit of a handler without a `timeout`: as long as most clients wait. */
const LIMIT_MS = 30_000;

interface DeclareRoute {
  <Path extends string>(
    method: CustomMethod,
    path: Path,
    handler: RouteHandler<PathParameters<Path>>,
  ): RouteHandler<PathParameters<Path>>;
  <Path extends string>(
    method: CustomMethod,
    path: Path,
    options: RouteOptions,
    handler: RouteHandler<PathParameters<Path>>,
  ): RouteHandler<PathParameters<Path>>;
}

/**
 * Declares a route of the server: `route(method, path, options?, handler)`. Export the route so that the server finds it. The
 * path may hold parameters, "/hooks/{name}"; the paths of the API, of /mcp, /metrics and the dashboard are reserved. The handler runs
 * in a process beside the server, under the same access rules as the API. A GET route answers HEAD as well.
 * @throws TypeError for a method or path that cannot be served, or without a handler; RangeError for the time limit.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { route } from "millrace";
 * import { callRoute } from "millrace/testing";
 *
 * export const greet = route("GET", "/greet/{name}", async (_request, { params }) => ({ hello: params.name }));
 *
 * const answer = await callRoute(greet, "/greet/Ada");
 * assert.deepEqual(await answer.json(), { hello: "Ada" });
 * ```
 */
export const route: DeclareRoute = declareRoute as DeclareRoute;

function declareRoute(method: CustomMethod, path: string, ...rest: [RouteHandler] | [RouteOptions, RouteHandler]): RouteHandler {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest;
  const wrong = checkCustomRoute(method, path);
  if (wrong !== null) throw new TypeError(wrong);
  if (typeof handler !== "function")
    throw new TypeError(`route ${method} ${path} needs a handler: route(method, path, options?, handler)`);
  const limitMs = limitOf(`route ${method} ${path}`, options.timeout);
  return declaredRoute({ method, path, limitMs, handler, hook: null });
}

/** Time limit of a handler in ms. @throws RangeError for one that is not above 0 and at most 5 minutes. */
export function limitOf(named: string, timeout: Duration | undefined): number {
  const limitMs = timeout === undefined ? LIMIT_MS : parseDuration(timeout) * 1000;
  if (limitMs <= 0 || limitMs > ROUTE_MS_MAX)
    throw new RangeError(`${named}: the timeout is above 0 and at most ${ROUTE_MS_MAX / 1000} s`);
  return limitMs;
}

/** The function that a module exports for this definition. */
export function declaredRoute(definition: RouteDefinition): RouteHandler {
  const call: RouteHandler = (request, context) => definition.handler(request, context);
  Object.defineProperty(call, "name", { value: `${definition.method} ${definition.path}` });
  return Object.defineProperty(call, DEFINITION, { value: definition });
}

/** The definition behind a value returned by route() or hook(), also of another copy of this package; else undefined. */
export function routeOf(value: unknown): RouteDefinition | undefined {
  if (typeof value !== "function" || !(DEFINITION in value)) return undefined;
  return value[DEFINITION] as RouteDefinition;
}
