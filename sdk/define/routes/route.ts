import { ROUTE_MS_MAX } from "#protocol/limits";
import { type CustomMethod, checkCustomRoute } from "#protocol/routes/custom-route";
import { type Duration, parseDuration } from "../duration.ts";

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
 * path may hold parameters, "/hooks/{name}"; the paths of the API, of /mcp and of the dashboard are reserved. The handler runs
 * in a process beside the server, under the same access rules as the API. A GET route answers HEAD as well.
 * @throws TypeError for a method or path that cannot be served, or without a handler; RangeError for the time limit.
 */
export const route: DeclareRoute = declareRoute as DeclareRoute;

function declareRoute(method: CustomMethod, path: string, ...rest: [RouteHandler] | [RouteOptions, RouteHandler]): RouteHandler {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest;
  const wrong = checkCustomRoute(method, path);
  if (wrong !== null) throw new TypeError(wrong);
  if (typeof handler !== "function")
    throw new TypeError(`route ${method} ${path} needs a handler: route(method, path, options?, handler)`);
  const limitMs = options.timeout === undefined ? LIMIT_MS : parseDuration(options.timeout) * 1000;
  if (limitMs <= 0 || limitMs > ROUTE_MS_MAX)
    throw new RangeError(`route ${method} ${path}: the timeout is above 0 and at most ${ROUTE_MS_MAX / 1000} s`);
  const definition: RouteDefinition = { method, path, limitMs, handler };
  const call: RouteHandler = (request, context) => handler(request, context);
  Object.defineProperty(call, "name", { value: `${method} ${path}` });
  return Object.defineProperty(call, DEFINITION, { value: definition });
}

/** The definition behind a value returned by route(), also of another copy of this package; else undefined. */
export function routeOf(value: unknown): RouteDefinition | undefined {
  if (typeof value !== "function" || !(DEFINITION in value)) return undefined;
  return value[DEFINITION] as RouteDefinition;
}
