/** Runs that change many times a second, without engines: a load for the dashboard. */
import type { Run } from "#sdk/client/index";
import type { Served } from "./served.ts";

/** Concurrent requests. */
const BATCH = 20;

export class LiveUpdates {
  readonly #server: Served;
  readonly #runs: readonly Run[];
  #moves = 0;

  private constructor(server: Served, runs: readonly Run[]) {
    this.#server = server;
    this.#runs = runs;
  }

  static async start(server: Served, runs: number): Promise<LiveUpdates> {
    const made: Run[] = [];
    for (let count = 0; count < runs; count += 1) made.push(await server.run("sync_stock_levels"));
    return new LiveUpdates(server, made);
  }

  /** Moves runs from state to state `times` times; each move is one stream message. */
  async move(times: number): Promise<void> {
    for (let done = 0; done < times; done += BATCH)
      await Promise.all(Array.from({ length: Math.min(BATCH, times - done) }, () => this.#moveOne()));
  }

  async #moveOne(): Promise<void> {
    const run = this.#runs[this.#moves % this.#runs.length] as Run;
    const round = Math.floor(this.#moves / this.#runs.length);
    this.#moves += 1;
    const body = { type: "Running", name: round % 2 === 0 ? "Running" : "Retrying", message: `move ${round}`, force: true };
    const response = await fetch(`${this.#server.url}/api/runs/${run.id}/transition`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`a move was answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  }
}
