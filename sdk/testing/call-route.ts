import { type RouteHandler, routeOf } from "../define/routes/route.ts";
import { responseOf } from "../define/routes/route-response.ts";

/**
 * Calls the handler of a route in this process, as the server would for a request to this path, and resolves to its answer.
 * @param path with its query, for example "/hooks/deploy?dry=1"
 * @param init headers, body and signal; the method is that of the route
 * @throws TypeError when `route` was not made by route(), does not match this path, or returns an invalid answer; errors of the
 * handler
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { route } from "millrace";
 * import { callRoute } from "millrace/testing";
 *
 * const deploy = route("POST", "/deploy/{app}", async (request, { params }) => {
 *   return { app: params.app, version: (await request.json()).version };
 * });
 *
 * const answer = await callRoute(deploy, "/deploy/shop", { body: JSON.stringify({ version: 7 }) });
 * assert.deepEqual(await answer.json(), { app: "shop", version: 7 });
 * ```
 */
export async function callRoute<Parameters>(
  route: RouteHandler<Parameters>,
  path: string,
  init: Omit<RequestInit, "method"> = {},
): Promise<Response> {
  const definition = routeOf(route);
  if (definition === undefined) throw new TypeError("callRoute() takes what route() returned");
  const request = new Request(new URL(path, "http://127.0.0.1:4270"), { ...init, method: definition.method });
  const params = parametersIn(definition.path, new URL(request.url).pathname);
  if (params === null) throw new TypeError(`${path} is not served by route ${definition.method} ${definition.path}`);
  return responseOf(await definition.handler(request, { params, signal: request.signal }));
}

/** What a delivery brings beside its payload. */
export interface TestDelivery {
  /** The id of the delivery. Default "delivery". */
  id?: string;
  /** Its headers. Default: none. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * Calls the function of a hook in this process, as the server would for a verified delivery with this payload, and resolves to
 * the answer. No signature is needed: the way to verify is not called.
 * @param path with its query, for example "/hooks/github"
 * @throws TypeError when `hook` was not made by hook(), does not match this path, or returns an invalid answer; errors of the
 * function
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { hook } from "millrace";
 * import { callHook } from "millrace/testing";
 *
 * const paid = hook(
 *   "paid",
 *   "/hooks/stripe",
 *   { secret: "stripe-secret", verify: "stripe" },
 *   async (payload: { type: string }, { id }) => `${payload.type} as ${id}`,
 * );
 *
 * const answer = await callHook(paid, "/hooks/stripe", { type: "invoice.paid" }, { id: "evt_7" });
 * assert.equal(await answer.json(), "invoice.paid as evt_7");
 * ```
 */
export async function callHook<Parameters>(
  hook: RouteHandler<Parameters>,
  path: string,
  payload: unknown,
  { id = "delivery", headers }: TestDelivery = {},
): Promise<Response> {
  const definition = routeOf(hook);
  if (definition?.hook == null) throw new TypeError("callHook() takes what hook() returned");
  const { pathname } = new URL(path, "http://127.0.0.1:4270");
  const params = parametersIn(definition.path, pathname);
  if (params === null) throw new TypeError(`${path} is not served by hook ${definition.path}`);
  const rawBody = Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload));
  const { signal } = new AbortController();
  return responseOf(await definition.hook(payload, { params, signal, id, headers: new Headers(headers), rawBody }));
}

/** The decoded values of a path's parameters; null for a path that does not match. */
function parametersIn(declared: string, path: string): Record<string, string> | null {
  const segments = declared.split("/");
  const values = path.split("/");
  if (segments.length !== values.length) return null;
  const params: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const value = values[index] ?? "";
    if (segment.startsWith("{")) params[segment.slice(1, -1)] = decodeURIComponent(value);
    else if (segment !== value) return null;
  }
  return params;
}
