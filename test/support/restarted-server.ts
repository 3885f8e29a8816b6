/** A server that a test stops and starts again on the same home. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Test } from "tap";
import { Millrace } from "#sdk/client/index";
import { serve } from "./command-line.ts";
import { testFolder } from "./test-folder.ts";

export interface RestartedServer {
  /** Client of the current server. */
  readonly client: Millrace;
  /** Stops or kills the server, leaves it down for a while, and starts it again. */
  restart(downMs?: number, signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Starts a server without engines that serves an empty folder; it ends with the test. */
export async function startRestarted(t: Test): Promise<RestartedServer> {
  const root = testFolder(t, { served: {} });
  const [served, home] = [join(root, "served"), join(root, "home")];
  let server = await serve(t, served, home);
  let client = new Millrace({ home });
  return {
    get client() {
      return client;
    },
    async restart(downMs = 0, signal = "SIGTERM") {
      server.child.kill(signal);
      await server.ended;
      // The missed time itself is under test, so there is no signal to wait for.
      await sleep(downMs);
      server = await serve(t, served, home);
      client = new Millrace({ home });
    },
  };
}
