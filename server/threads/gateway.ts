/** Entry of the gateway thread. */
import { GATEWAY, LISTENING } from "#actors/tree";
import { RECORDS } from "#actors/turn";
import { createGateway } from "#gateway/server";
import type { FeedMessage } from "#protocol/feed";
import { createSystemClock } from "#runtime/clock";
import { serveThread } from "#runtime/thread";
import { urlOf } from "../url.ts";
import type { ThreadData } from "./data.ts";

serveThread<ThreadData>((data, thread) => {
  const { config } = data;
  const clock = createSystemClock();
  // A gateway that is started again listens where the first one did.
  let port = config.port;
  return [
    {
      name: GATEWAY,
      start: async (_context, out) => {
        const gateway = createGateway(
          {
            host: config.host,
            port,
            socket: config.socket,
            token: config.token,
            allowed_hosts: config.allowedHosts,
            home: config.home,
            served_dir: data.servedDir,
            version: data.version,
            database_path: data.databasePath,
          },
          { send: (actor, message) => thread.host.send(actor, message), now: () => clock.monotonicUs() },
        );
        port = (await gateway.start()).port;
        const listening = { kind: "Listening", host: config.host, port, url: urlOf(config.host, port) };
        out.send(RECORDS, listening);
        out.send(LISTENING, listening);
        return { receive: (message: FeedMessage) => gateway.receive(message), stop: () => gateway.stop() };
      },
    },
  ];
});
