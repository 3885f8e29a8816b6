/** Registers the table of routes (protocol/routes/routes.ts) with the router: one endpoint per row. */
import { openapiDocument } from "#protocol/routes/openapi";
import type { Route } from "#protocol/routes/route";
import { ROUTES } from "#protocol/routes/routes";
import { VOCABULARY } from "#protocol/vocabulary";
import type { OutstandingCommands } from "../commands/outstanding-commands.ts";
import type { RunWaits } from "../commands/run-waits.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import { MetricsEndpoint } from "../metrics/metrics-endpoint.ts";
import type { Reads } from "../reads/reads.ts";
import { streamStart } from "../stream/stream-since.ts";
import type { StreamHub } from "../stream/subscribers.ts";
import type { Exchange } from "../transport/transport-port.ts";
import { CallbackEndpoint } from "./callback-endpoint.ts";
import { CommandEndpoint, type Endpoint, LocalEndpoint } from "./endpoint.ts";
import type { Readiness } from "./readiness.ts";
import { reply, replyDefect, replyRefusal } from "./reply.ts";
import { Router } from "./router.ts";
import { RunEndpoint } from "./run-endpoint.ts";

/** What answers requests. */
export interface Services {
  commands: OutstandingCommands;
  hub: StreamHub;
  reads: Reads;
  waits: RunWaits;
  mcp: McpEndpoint;
  readiness: Readiness;
}

/** As in GatewayPorts. */
export interface RouterPorts {
  now(): number;
  warn(text: string): void;
  newId(): string;
  defect(cause: unknown): void;
  scraped(): void;
}

export function buildRouter(
  { commands, hub, reads, waits, mcp, readiness }: Services,
  { now, warn, newId, defect, scraped }: RouterPorts,
): Router<Endpoint> {
  const router = new Router<Endpoint>();
  const failed = (exchange: Exchange, cause: unknown) => {
    const id = newId();
    defect(new Error(`error ${id} of ${exchange.method} ${exchange.path}`, { cause }));
    if (exchange.open) replyDefect(exchange, id);
  };
  const local = localServices(hub, (exchange) => readiness.serve(exchange, commands.problem));
  for (const route of ROUTES) {
    if (route.operation === "getRun") router.add(route.method, route.path, new RunEndpoint(route, reads.endpoint(route), waits));
    else if (route.kind === "read") router.add(route.method, route.path, reads.endpoint(route));
    else if (route.kind === "local") router.add(route.method, route.path, new LocalEndpoint(route.auth, serviceOf(local, route)));
    else if (route.operation === "getMetrics" && route.command !== undefined) {
      const sources = { commands, hub, reads, waits, scraped };
      router.add(route.method, route.path, new MetricsEndpoint(route.command, sources, failed));
    } else if (route.command !== undefined) {
      const endpoint = new CommandEndpoint(route, route.command, commands, reads, warn);
      const isCallback = route.path_parameters.some(({ name }) => name === "token");
      const ports = { isOpen: (token: string) => reads.isCallbackOpen(token), now };
      router.add(route.method, route.path, isCallback ? new CallbackEndpoint(endpoint, ports) : endpoint);
    }
  }
  // Not in the table, because MCP is not part of the interface's description.
  router.add("POST", MCP_PATH, new LocalEndpoint(true, (exchange) => mcp.receive(exchange)));
  router.add("DELETE", MCP_PATH, new LocalEndpoint(true, (exchange) => mcp.endSession(exchange)));
  return router;
}

const MCP_PATH = "/mcp";

type Service = (exchange: Exchange) => void;

/** Services of the gateway itself, by operation. */
function localServices(hub: StreamHub, ready: Service): Readonly<Record<string, Service>> {
  const health = JSON.stringify({ ok: true });
  let vocabulary: string | null = null;
  let openapi: string | null = null;
  return {
    getHealth: (exchange) => reply(exchange, 200, health),
    getReady: ready,
    getVocabulary: (exchange) => {
      vocabulary ??= JSON.stringify(VOCABULARY);
      reply(exchange, 200, vocabulary);
    },
    getOpenapi: (exchange) => {
      openapi ??= JSON.stringify(openapiDocument());
      reply(exchange, 200, openapi);
    },
    stream: (exchange) => {
      const start = streamStart(exchange.query, exchange.header("last-event-id"));
      if (start.ok) hub.open(exchange, start.since, start.filter);
      else replyRefusal(exchange, start.refusal);
    },
  };
}

function serviceOf(services: Readonly<Record<string, Service>>, route: Route): Service {
  const service = services[route.operation];
  if (service === undefined) throw new Error(`nothing serves ${route.method} ${route.path}`);
  return service;
}
