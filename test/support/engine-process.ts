import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { builtPath } from "./built-package.ts";
import { ProtocolServer } from "./protocol-server.ts";

const FLOWS = fileURLToPath(new URL("../integration/engine-flows", import.meta.url));

export interface StartedEngine {
  server: ProtocolServer;
  engine: ChildProcess;
  /** The exit code of the process. */
  exited: Promise<number | null>;
  /** Standard error so far. */
  complaints: () => string;
  /** Resolves when standard error contains the text. */
  complained: (text: string) => Promise<void>;
}

interface Teardown {
  teardown(run: () => unknown): void;
}

/** Starts a protocol server and an engine process for a module of engine-flows; both end with the test. */
export async function startEngine(t: Teardown, module: string, args: string[] = []): Promise<StartedEngine> {
  const server = await ProtocolServer.start();
  const command = [builtPath("sdk/engine/main"), "--source-dir", FLOWS, "--module", module, "--server", server.url, ...args];
  const engine = spawn(process.execPath, command, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], MILLRACE_ENGINE_ID: "engine-1" },
  });
  let errors = "";
  engine.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const complained = async (text: string): Promise<void> => {
    while (!errors.includes(text) && engine.stderr !== null) await once(engine.stderr, "data");
  };
  const exited = once(engine, "exit").then(([code]) => code as number | null);
  t.teardown(async () => {
    server.close();
    engine.kill("SIGKILL");
    await exited;
  });
  return { server, engine, exited, complaints: () => errors, complained };
}
