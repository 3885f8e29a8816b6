/**
 * Passes the trace of a run on to what its code calls: as the header `traceparent` of requests that Node's fetch, undici and
 * node:http send, and as the active context of OpenTelemetry, where the project of the flow has its API. Loaded by the thread of
 * an engine that traces runs, else when the first run begins whose creator has sent a header.
 */
import { channel } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Context, ContextAPI, PropagationAPI, SpanContext, TraceAPI } from "@opentelemetry/api";
import { readTraceparent } from "#protocol/values/traceparent";
import { currentTraceparent } from "../execution/active-run.ts";
import { type CodeTrace, untracedHeader } from "./trace-note.ts";

const HEADER = "traceparent";
const SAMPLED = 1;

/** The part of a request of undici that is public to subscribers of its channels. */
interface UndiciRequest {
  headers: readonly unknown[] | string;
  addHeader(name: string, value: string): void;
}

/** What is used of the API of OpenTelemetry. */
interface OpenTelemetryApi {
  context: Pick<ContextAPI, "active" | "with">;
  trace: Pick<TraceAPI, "setSpanContext">;
  propagation: Pick<PropagationAPI, "fields">;
}

export type Propagation = Pick<CodeTrace, "within">;

/**
 * @param sourceDir where the project of the flow looks for its packages
 * @param traces whether the engine traces runs: then what an untraced run calls is not traced either
 */
export async function followTraces(sourceDir: string, traces: boolean): Promise<Propagation> {
  const api = await findApi(sourceDir);
  const untraced = (externalId: string) => (traces ? untracedHeader(externalId) : undefined);
  // A project that registers propagators of its own also sends their headers.
  const isOurs = () => api === null || !api.propagation.fields().includes(HEADER);
  channel("undici:request:create").subscribe((message) => {
    const { request } = message as { request: UndiciRequest };
    const header = currentTraceparent(untraced);
    if (header !== undefined && isOurs() && !hasHeader(request.headers)) request.addHeader(HEADER, header);
  });
  channel("http.client.request.created").subscribe((message) => {
    const { request } = message as { request: ClientRequest };
    const header = currentTraceparent(untraced);
    if (header !== undefined && isOurs() && !request.headersSent && !request.hasHeader(HEADER)) request.setHeader(HEADER, header);
  });
  return { within: api === null ? null : (header, code) => withContext(api, header, code) };
}

/** Headers of undici are one text, or names and values in turn. */
function hasHeader(headers: UndiciRequest["headers"]): boolean {
  const names = typeof headers === "string" ? headers.split("\r\n").map((line) => line.split(":")[0]) : headers;
  return names.some((name) => typeof name === "string" && name.toLowerCase() === HEADER);
}

function withContext<T>({ context, trace }: OpenTelemetryApi, header: string, code: () => T): T {
  const parent = readTraceparent(header);
  if (parent === null) return code();
  const span: SpanContext = { traceId: parent.traceId, spanId: parent.spanId, traceFlags: parent.sampled ? SAMPLED : 0 };
  const active: Context = trace.setSpanContext(context.active(), span);
  return context.with(active, code);
}

/** The API that the flow's own code imports: its versions share their state, but another one could register first. */
async function findApi(sourceDir: string): Promise<OpenTelemetryApi | null> {
  let path: string;
  try {
    path = createRequire(join(sourceDir, "package.json")).resolve("@opentelemetry/api");
  } catch {
    return null;
  }
  return (await import(pathToFileURL(path).href)) as OpenTelemetryApi;
}
