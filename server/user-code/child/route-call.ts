/** In the user-code process: one request for a custom route, as Fetch API objects. */

import type { RouteCall } from "#actors/user-code/user-code-calls";
import { ROUTE_ANSWER_BYTES_MAX } from "#protocol/limits";
import type { RouteDefinition } from "#sdk/define/routes/route";
import { readWhole, responseOf, type WholeResponse } from "#sdk/define/routes/route-response";

export async function callRoute({ handler }: RouteDefinition, call: RouteCall, signal: AbortSignal): Promise<WholeResponse> {
  const value = await handler(requestOf(call, signal), { params: call.params, signal });
  return await readWhole(responseOf(value), ROUTE_ANSWER_BYTES_MAX);
}

function requestOf({ url, method, headers, body }: RouteCall, signal: AbortSignal): Request {
  const sent = new Headers();
  for (let index = 0; index < headers.length; index += 2) sent.append(headers[index] ?? "", headers[index + 1] ?? "");
  const bodiless = body === null || method === "GET" || method === "HEAD";
  return new Request(url, { method, headers: sent, signal, ...(bodiless ? {} : { body: body as Uint8Array<ArrayBuffer> }) });
}
