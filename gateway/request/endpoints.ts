/** Registers the table of routes (protocol/routes/routes.ts) with the router: one endpoint per row. */
import { openapiDocument } from "#protocol/routes/openapi";
import type { Route } from "#protocol/routes/route";
import { ROUTES } from "#protocol/routes/routes";
import { VOCABULARY } from "#protocol/vocabulary";
import type { OutstandingCommands } from "../commands/outstanding-commands.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import type { Reads } from "../reads/reads.ts";
import { streamStart } from "../stream/stream-since.ts";
import type { StreamHub } from "../stream/subscribers.ts";
import type { Exchange } from "../transport/transport-port.ts";
import { CommandEndpoint, type Endpoint, LocalEndpoint } from "./endpoint.ts";
import { reply, replyRefusal } from "./reply.ts";
import { Router } from "./router.ts";

export function buildRouter(
  commands: OutstandingCommands,
  hub: StreamHub,
  reads: Reads,
  mcp: McpEndpoint,
  warn: (text: string) => void,
): Router<Endpoint> {
  const router = new Router<Endpoint>();
  const local = localServices(hub);
  for (const route of ROUTES) {
    if (route.kind === "read") router.add(route.method, route.path, reads.endpoint(route));
    else if (route.kind === "local") router.add(route.method, route.path, new LocalEndpoint(route.auth, serviceOf(local, route)));
    else if (route.command !== undefined)
      router.add(route.method, route.path, new CommandEndpoint(route, route.command, commands, reads, warn));
  }
  // Not in the table, because MCP is not part of the interface's description.
  router.add("POST", MCP_PATH, new LocalEndpoint(true, (exchange) => mcp.receive(exchange)));
  router.add("DELETE", MCP_PATH, new LocalEndpoint(true, (exchange) => mcp.endSession(exchange)));
  return router;
}

const MCP_PATH = "/mcp";

type Service = (exchange: Exchange) => void;

/** Services of the gateway itself, by operation. */
function localServices(hub: StreamHub): Readonly<Record<string, Service>> {
  const health = JSON.stringify({ ok: true });
  let vocabulary: string | null = null;
  let openapi: string | null = null;
  return {
    getHealth: (exchange) => reply(exchange, 200, health),
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
      if (start.ok) hub.open(exchange, start.since);
      else replyRefusal(exchange, start.refusal);
    },
  };
}

function serviceOf(services: Readonly<Record<string, Service>>, route: Route): Service {
  const service = services[route.operation];
  if (service === undefined) throw new Error(`nothing serves ${route.method} ${route.path}`);
  return service;
}
