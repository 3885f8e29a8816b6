/** The channel of an engine that takes one run by a poll: reports and heartbeats are requests of that run alone. */
import type { WorkItem } from "#protocol/records/engine";
import { Heartbeat } from "./heartbeat.ts";
import type { HeldRun, RunChannel, RunWatcher } from "./run-channel.ts";
import type { ServerApi } from "./server-api.ts";

export class PolledRuns implements RunChannel {
  readonly #api: ServerApi;
  readonly #heartbeatMs: number;
  readonly #lostMs: number;

  /**
   * @param heartbeatMs a heartbeat is sent after this much time without an answer of the server, in ms
   * @param lostMs time without a server after which the run counts as given up, in ms
   */
  constructor(api: ServerApi, heartbeatMs: number, lostMs: number) {
    this.#api = api;
    this.#heartbeatMs = heartbeatMs;
    this.#lostMs = lostMs;
  }

  hold(item: WorkItem, watcher: RunWatcher): HeldRun {
    const heartbeat = new Heartbeat(this.#api, item, this.#heartbeatMs, this.#lostMs, watcher);
    heartbeat.start();
    return {
      report: async (events) => {
        const answer = await this.#api.report(item, events);
        if (answer.kind === "applied") heartbeat.contact();
        return answer;
      },
      check: () => heartbeat.beat(),
      close: () => heartbeat.stop(),
    };
  }
}
