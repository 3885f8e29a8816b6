/** Thousands of waiting engines of another module, each on a separate connection. */
import { workBody } from "./engine-protocol.ts";
import { type Endpoint, HttpConnection } from "./http-connection.ts";
import { LoadFailed } from "./load-failed.ts";
import type { PhaseContext } from "./phases/phase.ts";
import { readDescriptorLimit } from "./process-usage.ts";

/** Connections opened concurrently: a larger burst overflows the listen backlog. */
const OPEN_AT_ONCE = 100;
/** Descriptors besides the connections: files, pipes, the event loop. */
const SPARE_DESCRIPTORS = 200;
/** Answers to a poll are small. */
const READ_BYTES = 512;

/** Why the phase cannot hold its polls, or null. */
export function parkObstacle({ target, fleet, options }: PhaseContext): string | null {
  const needed = options.park + fleet.size.engines + fleet.size.creators + SPARE_DESCRIPTORS;
  return target.parkObstacle ?? descriptorShortage(target.pid, needed);
}

export class ParkedEngines {
  lost = 0;
  /** Why the first of them was lost. */
  reason = "";
  readonly #connections: HttpConnection[];
  readonly #polls: string[];
  readonly #endpoint: Endpoint;
  #closed = false;

  constructor({ fleet }: PhaseContext, count: number) {
    const flow = { ...fleet.flow, module: `${fleet.flow.module}_parked` };
    this.#endpoint = fleet.endpoint;
    this.#connections = Array.from({ length: count }, () => new HttpConnection(fleet.endpoint, READ_BYTES));
    this.#polls = this.#connections.map((_, n) => workBody(flow, `load-parked-${process.pid}-${n}`, fleet.standInPid));
  }

  /** Opens all connections and sends a poll on each. */
  async open(): Promise<void> {
    for (let first = 0; first < this.#connections.length; first += OPEN_AT_ONCE) {
      const group = this.#connections.slice(first, first + OPEN_AT_ONCE);
      await Promise.all(group.map((connection) => connection.open()));
      group.forEach((connection, n) => {
        void this.#poll(connection, this.#polls[first + n] ?? "");
      });
    }
    // One request on a separate connection: once it is answered, the server has had time to read the polls.
    const probe = new HttpConnection(this.#endpoint);
    await probe.get("/api/health");
    probe.close();
  }

  /** Notes about polls that were rejected or cut. */
  notes(): string[] {
    return this.lost === 0 ? [] : [`${this.lost} parked polls were turned away or cut, the first: ${this.reason}`];
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections) connection.close();
  }

  async #poll(connection: HttpConnection, body: string): Promise<void> {
    try {
      while (!this.#closed) {
        const answer = await connection.post("/api/engine/work", body, true);
        if (answer.status !== 200 || answer.body.includes('"exit":true')) {
          throw new LoadFailed(`${answer.status} ${answer.body.slice(0, 200)}`);
        }
      }
    } catch (error) {
      if (this.#closed) return;
      if (this.lost === 0) this.reason = error instanceof Error ? error.message : String(error);
      this.lost += 1;
    }
  }
}

/** Why this many connections cannot be held, or null. */
function descriptorShortage(serverPid: number | null, needed: number): string | null {
  for (const [who, pid] of [
    ["the load generator", "self" as const],
    ["the server", serverPid],
  ] as const) {
    const limit = pid === null ? null : readDescriptorLimit(pid);
    if (limit !== null && limit < needed) {
      return `left out: ${who} may open ${limit} files and ${needed} are needed (ulimit -n ${needed} before starting it)`;
    }
  }
  return null;
}
