import type { Readable } from "node:stream";
import { setTimeout as pause, setImmediate as served } from "node:timers/promises";
import type { Gauges } from "../execution/gauges.ts";

/**
 * After a child has ended, its output counts as complete after this much silence, even if a background process keeps the pipe
 * open.
 */
const QUIET_MS = 100;
const QUIET_LOOKS_MAX = 10;

/** Reads the output of a child process, as fast as the log takes it. */
export class ChildOutput {
  /** False once the last process that holds the pipe has closed it. */
  open = true;
  readonly #stream: Readable;
  #bytes = 0;

  /** @param gauges reading stops while these report a backlog */
  constructor(stream: Readable, gauges: Pick<Gauges, "behind" | "caughtUp"> | undefined, take: (chunk: Buffer) => void) {
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      take(chunk);
      if (gauges?.behind !== true) return;
      stream.pause();
      void gauges.caughtUp().then(() => stream.resume());
    });
    stream.on("error", () => undefined);
    stream.once("close", () => {
      this.open = false;
    });
  }

  /** Call this when the child has ended: resolves when its output has been read. */
  async complete(): Promise<void> {
    for (let look = 0, seen = -1; this.open && this.#bytes !== seen && look < QUIET_LOOKS_MAX; ) {
      // What waits in the pipe is not lost: it is read as soon as the backlog has been sent.
      const paused = this.#stream.isPaused();
      seen = paused ? -1 : this.#bytes;
      look += paused ? 0 : 1;
      await pause(QUIET_MS);
      await served();
    }
  }
}
