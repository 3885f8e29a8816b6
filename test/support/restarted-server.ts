/** A server that a test stops and starts again on the same home. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { Millrace } from "#sdk/client/index";
import { loadConfig } from "#server/config/config";
import { type RunningServer, startServer } from "#server/main";

export interface RestartedServer {
  /** Client of the current server. */
  readonly client: Millrace;
  /** Stops the server, leaves it down for a while, and starts it again. */
  restart(downMs?: number): Promise<void>;
}

/** Starts a server without engines that serves an empty folder; it ends with the test. */
export async function startRestarted(t: Test): Promise<RestartedServer> {
  const root = t.testdir({ served: {} });
  const [served, home] = [join(root, "served"), join(root, "home")];
  const { config } = loadConfig({ home, host: "127.0.0.1", port: "0", engines: false, open: false }, {}, served);
  let server: RunningServer = await startServer(config, served);
  t.teardown(() => server.stop());
  let client = new Millrace({ url: server.url });
  return {
    get client() {
      return client;
    },
    async restart(downMs = 0) {
      await server.stop();
      await server.stopped;
      // The missed time itself is under test, so there is no signal to wait for.
      await sleep(downMs);
      server = await startServer(config, served);
      client = new Millrace({ url: server.url });
    },
  };
}
