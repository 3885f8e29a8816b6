/**
 * Starts an installed Cereyan for comparison: another server with the same protocol. It starts engines itself when its pool
 * has room and runs wait, so its pool gets exactly as many places as there are simulated engines, and engines that it starts
 * do nothing.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { LoadFlow } from "./engine-protocol.ts";
import type { Endpoint } from "./http-connection.ts";
import { startServer } from "./server-process.ts";
import { field, getJson, type Target } from "./target.ts";

const ENGINE_MAX_RUNS = "100000000";
const REGISTER_LIMIT_MS = 20_000;
const LOOK_EVERY_MS = 20;
const FLOW_NAME = "bench";

const PARK_OBSTACLE =
  "left out: the server fills room in its pool with engines of its own and sends waiting ones away when the pool is full";

/** An engine process that imports this module does nothing as long as its server lives. */
const MODULE = `import os, sys, time

if any("cereyan.engine" in word for word in sys.orig_argv):
    server = os.getppid()
    while os.getppid() == server:
        time.sleep(0.5)
    os._exit(0)

from cereyan import flow


@flow
def ${FLOW_NAME}():
    pass
`;

export async function startPeerServer(program: string, poolPlaces: number): Promise<Target> {
  const scratch = mkdtempSync(join(tmpdir(), "millrace-load-peer-"));
  const served = join(scratch, "flows");
  const home = join(scratch, "home");
  mkdirSync(served);
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(served, "bench_mod.py"), MODULE);
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  try {
    const server = await startServer({
      program,
      args: [
        ...["--home", home, "serve", served, "--port", "0", "--max-engines", String(poolPlaces)],
        ...["--engine-max-runs", ENGINE_MAX_RUNS, "--no-open"],
      ],
      cwd: served,
      home,
      token: null,
      settingsPrefix: "CEREYAN_",
    });
    const stop = async () => {
      await server.stop();
      remove();
    };
    try {
      return {
        name: "cereyan",
        endpoint: server.endpoint,
        pid: server.pid,
        startMs: server.startMs,
        version: String(field(await getJson(server.endpoint, "/api/server"), "version")),
        durability: "its default",
        flow: await registeredFlow(server.endpoint),
        parkObstacle: PARK_OBSTACLE,
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    remove();
    throw error;
  }
}

/** The flow as registered by the server from its module: the server chooses project and directory. */
async function registeredFlow(endpoint: Endpoint): Promise<LoadFlow> {
  const limit = performance.now() + REGISTER_LIMIT_MS;
  while (performance.now() < limit) {
    const flows = await getJson(endpoint, "/api/flows");
    const found = Array.isArray(flows) ? flows.find((flow) => field(flow, "name") === FLOW_NAME) : undefined;
    if (found !== undefined) {
      const text = (name: string) => String(field(found, name));
      return { project: text("project"), name: FLOW_NAME, module: text("module"), source_dir: text("source_dir") };
    }
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error("the compared server did not register its flow");
}
