/**
 * The process whose id the simulated engines report as theirs. A server may signal an engine's process, and checks it for
 * life. The id must not be the load generator's own, so a small child process is used. The child ends by itself when the load
 * generator is gone.
 */
import { type ChildProcess, spawn } from "node:child_process";

const PROGRAM =
  "process.stdin.resume(); process.stdin.on('end', () => process.exit(0)); process.stdin.on('error', () => process.exit(0));";

export class StandIn {
  readonly pid: number;
  readonly #child: ChildProcess;

  constructor() {
    this.#child = spawn(process.execPath, ["-e", PROGRAM], { stdio: ["pipe", "ignore", "ignore"] });
    this.#child.stdin?.on("error", () => undefined);
    this.#child.unref();
    if (this.#child.pid === undefined) throw new Error("the stand-in process for the engines did not start");
    this.pid = this.#child.pid;
  }

  stop(): void {
    this.#child.stdin?.end();
  }
}
