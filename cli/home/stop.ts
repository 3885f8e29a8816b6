/** `millrace stop`: asks the server of this machine for an orderly stop, and waits until its process has exited. */
import { setTimeout } from "node:timers/promises";
import { findLocalServer, isAlive } from "#sdk/client/local-server";
import { CommandError, EXIT } from "../exit-code.ts";
import { ownHome } from "../own-home.ts";
import { positive } from "../runs/runs.ts";
import { Terminal } from "../terminal/terminal.ts";

export interface StopOptions {
  home?: string;
  url?: string;
  timeout: string;
  json?: boolean;
}

/** How often the process is checked: only a parent is notified of its end. */
const LOOK_MS = 50;

/** A server that has just exited needs no signal. */
function tell(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ESRCH") throw error;
  }
}

/** @throws MillraceError when no server runs; CommandError when it does not end in time. */
export async function stop(options: StopOptions): Promise<number> {
  const limitSecs = positive("--timeout", options.timeout);
  const home = ownHome(options);
  const { pid, startedAt } = findLocalServer(home);
  const startedMs = performance.now();
  tell(pid);
  while (isAlive(pid, startedAt)) {
    if (performance.now() - startedMs > limitSecs * 1000) {
      const advice = `Look at server.log in ${home}; kill -9 ${pid} ends it at once and loses nothing that was acknowledged.`;
      throw new CommandError(`the server (pid ${pid}) has not ended after ${limitSecs} s`, advice, EXIT.otherEnd);
    }
    await setTimeout(LOOK_MS);
  }
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ stopped: true, pid, home });
  else out.line(`The server (pid ${pid}) has stopped.`);
  return EXIT.ok;
}
