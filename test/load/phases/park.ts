/** Engines of another module that wait for work, in thousands, while runs go on: memory of the server, and what is left of the rate. */

import { workBody } from "../engine-protocol.ts";
import { figure } from "../figure.ts";
import { LoadFailed } from "../fleet.ts";
import { type Endpoint, HttpConnection } from "../http-connection.ts";
import { readDescriptorLimit, readUsage } from "../process-usage.ts";
import { MIB } from "../window.ts";
import { failureNotes, type PhaseContext, type PhaseResult } from "./phase.ts";
import { steadyWindow } from "./steady.ts";

/** Connections opened at once: a longer burst overflows the listening queue. */
const OPEN_AT_ONCE = 100;
/** Descriptors besides the connections: files, pipes, the event loop. */
const SPARE_DESCRIPTORS = 200;
/** Answers to a poll are small. */
const READ_BYTES = 512;
const KIB = 1_024;

export async function parkPhase(context: PhaseContext): Promise<PhaseResult> {
  const { target, fleet, options } = context;
  if (target.parkObstacle !== null) return { figures: [], notes: [target.parkObstacle] };
  const needed = options.park + fleet.size.engines + fleet.size.creators + SPARE_DESCRIPTORS;
  const shortage = descriptorShortage(target.pid, needed);
  if (shortage !== null) return { figures: [], notes: [shortage] };
  const alone = await steadyWindow(context, options.seconds);
  const before = residentBytes(target.pid);
  const parked = new ParkedEngines(context, options.park);
  try {
    await parked.open();
    const after = residentBytes(target.pid);
    const crowded = await steadyWindow(context, options.seconds);
    const grown = before === null || after === null ? null : after - before;
    const aloneRate = alone.recorder.completed / alone.seconds;
    const crowdedRate = crowded.recorder.completed / crowded.seconds;
    return {
      figures: [
        ...figure("parked polls", "", options.park),
        ...figure("memory added", "MiB", grown === null ? null : grown / MIB),
        ...figure("memory per poll", "KiB", grown === null ? null : grown / KIB / options.park),
        ...figure("runs, none parked", "runs/s", aloneRate),
        ...figure("runs, all parked", "runs/s", crowdedRate),
        ...figure("rate kept", "ratio", crowdedRate / aloneRate),
        ...figure("polls lost", "", parked.lost),
      ],
      notes: [
        ...(parked.lost > 0 ? [`${parked.lost} parked polls were turned away or cut, the first: ${parked.reason}`] : []),
        ...failureNotes([...alone.recorder.errors, ...crowded.recorder.errors]),
      ],
    };
  } finally {
    parked.close();
  }
}

class ParkedEngines {
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
    // One exchange on a connection of its own: by its answer the server has had its turn to read the polls.
    const probe = new HttpConnection(this.#endpoint);
    await probe.get("/api/health");
    probe.close();
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

function residentBytes(pid: number | null): number | null {
  return pid === null ? null : (readUsage(pid)?.residentBytes ?? null);
}

/** Why so many connections cannot be held, or null when they can. */
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
