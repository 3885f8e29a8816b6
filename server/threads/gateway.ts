/** The gateway as an actor of its thread. */

import { createIdSource } from "#actors/ids";
import { DISPATCHER, GATEWAY, LEASES, LISTENING, RECORDS, USER_CODE } from "#actors/names";
import { createGateway, type Gateway, type GatewayMessage } from "#gateway/server";
import type { ActorSpec } from "#runtime/actor";
import { createSystemClock } from "#runtime/clock";
import type { ThreadHost } from "#runtime/thread";
import { urlOf } from "../url.ts";
import type { ThreadData } from "./data.ts";

export function setUp(data: ThreadData, thread: ThreadHost): ActorSpec[] {
  const { config } = data;
  const ids = createIdSource();
  const clock = createSystemClock();
  // A gateway that is started again listens where the first one did.
  let port = config.port;
  let former: Gateway | null = null;
  return [
    {
      name: GATEWAY,
      start: async (_context, out) => {
        // One that failed left its listener open; it ends by itself before the next takes its place.
        await former?.close();
        const gateway = createGateway(
          {
            host: config.host,
            port,
            socket: config.socket,
            token: config.token,
            allowed_hosts: config.allowedHosts,
            mcp_read_only: config.mcpReadOnly,
            home: config.home,
            served_dir: data.servedDir,
            version: data.version,
            database_path: data.databasePath,
          },
          {
            send: (actor, message) => thread.host.send(actor, message),
            sendRoute: (message) => thread.host.send(USER_CODE, message),
            now: () => clock.monotonicUs(),
            newId: () => ids.uuid(),
          },
        );
        former = gateway;
        port = (await gateway.start()).port;
        const listening = { kind: "Listening", host: config.host, port, url: urlOf(config.host, port) };
        out.send(RECORDS, listening);
        out.send(DISPATCHER, { kind: "GatewayStarted" });
        out.send(LEASES, { kind: "GatewayStarted" });
        out.send(USER_CODE, { kind: "GatewayStarted" });
        out.send(LISTENING, listening);
        return {
          receive: (message: GatewayMessage) => gateway.receive(message),
          stop: (failed: boolean) => (failed ? gateway.close() : gateway.stop()),
        };
      },
    },
  ];
}
