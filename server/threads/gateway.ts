/** The gateway as an actor. The connections belong to the thread and survive the actor. */
import { fileURLToPath } from "node:url";
import { createIdSource } from "#actors/ids";
import {
  DISPATCHER,
  GATEWAY,
  LEASE_MANAGER,
  LISTENING,
  RECORDS,
  SCRAPES,
  SERVER_LOG,
  STORE_WRITER,
  USER_CODE,
} from "#actors/names";
import { createGateway, type Gateway, type GatewayMessage, type GatewayOptions } from "#gateway/gateway";
import type { FeedRead } from "#protocol/wire/feed";
import type { ActorSpec } from "#runtime/actor";
import { systemClock } from "#runtime/clock";
import type { Outbox } from "#runtime/effect";
import type { ThreadHost } from "#runtime/thread";
import { memoryOf, totalMemory } from "#runtime/thread-memory";
import type { LogMessage } from "../server-log.ts";
import { urlOf } from "../url.ts";
import type { ThreadData } from "./data.ts";

/** The built dashboard: beside the compiled server, or in dist/ of a clone. */
const DASHBOARD = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../dist/dashboard/" : "../../dashboard/", import.meta.url),
);

/** @param opened receives the gateway, for requests of this process */
export function setUp(data: ThreadData, thread: ThreadHost, opened?: (gateway: Gateway) => void): ActorSpec[] {
  let gateway: Gateway | null = null;
  let failedAt: GatewayMessage | null = null;
  thread.atClose(() => void gateway?.close());
  thread.owns("readers", async () => totalMemory((await gateway?.readerHeaps())?.map(memoryOf) ?? []));
  const open = async (out: Outbox): Promise<Gateway> => {
    const listening = await listen(data, thread, out);
    gateway = listening;
    opened?.(listening);
    return listening;
  };
  return [
    {
      name: GATEWAY,
      start: async (_context, out) => {
        gateway?.restart(failedAt);
        failedAt = null;
        const running = gateway ?? (await open(out));
        return {
          receive: (message: GatewayMessage) => running.receive(message),
          // A failed gateway keeps accepting requests until its restart.
          stop: (failed: boolean) => (failed ? undefined : running.stop()),
        };
      },
      failed: (message) => {
        failedAt = message as GatewayMessage;
      },
    },
  ];
}

async function listen(data: ThreadData, thread: ThreadHost, out: Outbox): Promise<Gateway> {
  const { host } = data.config;
  const ids = createIdSource();
  const clock = systemClock;
  const gateway = createGateway(optionsOf(data), {
    send: (actor, message) => thread.host.send(actor, message),
    sendRoute: (message) => thread.host.send(USER_CODE, message),
    read: (seq) => thread.host.send(STORE_WRITER, { kind: "FeedRead", seq } satisfies FeedRead),
    now: () => clock.monotonicUs(),
    newId: () => ids.uuid(),
    failed: (cause) => thread.host.kill(GATEWAY, textOf(cause)),
    defect: (cause) => thread.host.send(SERVER_LOG, { text: `gateway: ${textOf(cause)}` } satisfies LogMessage),
    held: (what, tookUs) => thread.host.held(GATEWAY, what, tookUs),
    scraped: () => thread.host.send(SCRAPES, null),
    warn: (text) => thread.host.send(SERVER_LOG, { level: "warn", text } satisfies LogMessage),
  });
  const { port, fallback } = await gateway.start();
  if (fallback !== null) {
    const text = `node:http serves instead of uWebSockets.js, whose binary does not load here: ${fallback}`;
    thread.host.send(SERVER_LOG, { level: "warn", text } satisfies LogMessage);
  }
  const listening = { kind: "Listening", host, port, url: data.listens ? urlOf(host, port) : "" };
  out.send(RECORDS, listening);
  out.send(DISPATCHER, { kind: "GatewayStarted" });
  out.send(LEASE_MANAGER, { kind: "GatewayStarted" });
  out.send(USER_CODE, { kind: "GatewayStarted" });
  out.send(LISTENING, listening);
  return gateway;
}

function optionsOf({ config, openFiles, store, servedDir, version, listens }: ThreadData): GatewayOptions {
  return {
    host: config.host,
    port: listens ? config.port : null,
    socket: listens ? config.socket : null,
    token: config.token,
    allowed_hosts: config.allowedHosts,
    mcp_read_only: config.mcpReadOnly,
    home: config.home,
    served_dir: servedDir,
    version,
    store,
    dashboard: DASHBOARD,
    transport: config.transport,
    connections_max: openFiles.connections,
  };
}

function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const text = cause.stack ?? cause.message;
  return cause.cause === undefined ? text : `${text}\ncaused by ${textOf(cause.cause)}`;
}
