/** Heartbeats of a run, and the detection of a server that is gone. */
import type { WorkItem } from "#protocol/records/engine";
import type { RunWatcher } from "./run-channel.ts";
import type { ServerApi } from "./server-api.ts";

/** How often the silence is checked, as a fraction of the interval. */
const CHECKS_PER_INTERVAL = 5;

/** Sends a heartbeat when no other request of the run has been answered for a while, and receives cancels. */
export class Heartbeat {
  readonly #api: ServerApi;
  readonly #item: WorkItem;
  readonly #intervalMs: number;
  readonly #lostMs: number;
  readonly #watcher: RunWatcher;
  #contactMs = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #pending = false;

  /** @param lostMs time without a server after which the run counts as given up, in ms */
  constructor(api: ServerApi, item: WorkItem, intervalMs: number, lostMs: number, watcher: RunWatcher) {
    this.#api = api;
    this.#item = item;
    this.#intervalMs = intervalMs;
    this.#lostMs = lostMs;
    this.#watcher = watcher;
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (performance.now() - this.#contactMs >= this.#intervalMs) this.beat();
    }, this.#intervalMs / CHECKS_PER_INTERVAL);
  }

  /** The server has just answered. */
  contact(): void {
    this.#contactMs = performance.now();
  }

  beat(): void {
    if (!this.#pending && this.#timer !== null) void this.#send();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #send(): Promise<void> {
    this.#pending = true;
    const answer = await this.#api.heartbeat(this.#item);
    this.#pending = false;
    if (this.#timer === null) return;
    if (answer === null) {
      if (performance.now() - this.#contactMs >= this.#lostMs) this.#watcher.lost();
      return;
    }
    this.contact();
    if (answer.cancel) this.#watcher.cancelRequested();
    else if (!answer.active) this.#watcher.gone("the server answered a heartbeat that this engine does not hold the run");
  }
}
