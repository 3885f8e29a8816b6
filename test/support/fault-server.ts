/** A server in a separate process, as users run it, whose actors and threads a test can end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath, pathToFileURL } from "node:url";
import { builtPath } from "./built-package.ts";

const PROGRAM = fileURLToPath(new URL("./fault-server-process.ts", import.meta.url));

/** A message to the process: actors to kill, threads to end, or stop. */
export interface FaultRequest {
  ask: "kill" | "end" | "stop";
  names: readonly string[];
}

export interface FaultServer {
  url: string;
  /** Makes these actors crash. */
  kill(names: readonly string[]): Promise<unknown>;
  /** Ends these threads at once. */
  end(names: readonly string[]): Promise<unknown>;
  /** Stops in order; returns the exit code and signal of the process. */
  stop(): Promise<unknown[]>;
}

/** @throws when the server does not start. */
export async function startFaultServer(home: string, threads: "two" | "three"): Promise<FaultServer> {
  const [server = "", config = ""] = ["server/main", "server/config/config"].map(
    (module) => pathToFileURL(builtPath(module)).href,
  );
  const child = spawn(process.execPath, [PROGRAM, server, config, home, threads], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const answer = async (): Promise<unknown> => {
    const [message] = await Promise.race([once(child, "message"), ended.then(() => [])]);
    if (message === undefined) throw new Error("the server has ended");
    return message;
  };
  const ask = async (request: FaultRequest): Promise<unknown> => {
    const answered = answer();
    child.send(request);
    return await answered;
  };
  const { url } = (await answer()) as { url: string };
  return {
    url,
    kill: (names) => ask({ ask: "kill", names }),
    end: (names) => ask({ ask: "end", names }),
    stop: () => {
      child.send({ ask: "stop", names: [] } satisfies FaultRequest);
      return ended;
    },
  };
}
