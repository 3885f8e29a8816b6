/** Phase sleeping: what many sleeping runs add to the memory of a server and to its start. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Cleanup, started } from "../cleanup.ts";
import { type Figure, figure } from "../figure.ts";
import { LoadFailed } from "../load-failed.ts";
import { startOwnServer } from "../own-server.ts";
import { readUsage } from "../process-usage.ts";
import type { TargetRecord } from "../report/summary.ts";
import { field, getJson, type Target, targetRecord } from "../target.ts";
import type { DurableOptions } from "./durable-options.ts";
import { createSleepers, registerFlow } from "./durable-runs.ts";

export const SLEEPING = "sleeping runs";
export const HOMES = [SLEEPING, "empty home"] as const;
export type Home = (typeof HOMES)[number];

const MB = 1_000_000;
/** After this time a server has done what it does once after its start. */
const SETTLE_MS = 3_000;
/** The sleeps end after the measurement. */
const SLEEP_US = 7 * 86_400_000_000;

export interface Homes {
  /** Figures of the server in which the runs went to sleep. */
  created: Figure[];
  start(home: Home): Promise<StartedHome>;
}

export interface StartedHome {
  record: TargetRecord;
  startSeconds: number;
  memoryMb: number | null;
}

/** Fills a home with sleeping runs, and another with the flow alone. */
export async function prepareHomes(
  { sleeping, durability, compiled }: DurableOptions,
  pid: number,
  live: (text: string) => void,
  cleanup: Cleanup,
): Promise<Homes> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-load-homes-"));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  const open = (name: Home) => {
    const home = join(folder, name.replaceAll(" ", "-"));
    return started(cleanup, startOwnServer({ home, token: null, durability, compiled }));
  };
  const created: Figure[] = [];
  for (const name of HOMES) {
    const server = await open(name);
    await registerFlow(server, pid);
    if (name === SLEEPING) {
      await pause(SETTLE_MS);
      const before = memoryMb(server);
      const endUs = Date.now() * 1_000 + SLEEP_US;
      const startedAt = performance.now();
      await createSleepers(server, pid, sleeping, (n) => endUs + n, live);
      created.push(...figure("put to sleep", "runs/s", sleeping / ((performance.now() - startedAt) / 1_000)));
      await pause(SETTLE_MS);
      const after = memoryMb(server);
      created.push(
        ...figure("memory more than before they were created", "MB", before === null || after === null ? null : after - before),
      );
    }
    await server.stop();
  }
  return {
    created,
    start: async (name) => {
      const server = await open(name);
      await pause(SETTLE_MS);
      const measured = {
        record: targetRecord(server, name),
        startSeconds: (server.startMs ?? 0) / 1_000,
        memoryMb: memoryMb(server),
      };
      await checkSleeping(server, name === SLEEPING ? sleeping : 0);
      await server.stop();
      return measured;
    },
  };
}

function memoryMb({ pid }: Target): number | null {
  const usage = pid === null ? null : readUsage(pid);
  return usage === null ? null : usage.residentBytes / MB;
}

async function checkSleeping(server: Target, expected: number): Promise<void> {
  const states = field(await getJson(server.endpoint, "/api/runs/counts"), "states");
  const found = field(states, "Sleeping") ?? 0;
  if (found !== expected) throw new LoadFailed(`${String(found)} runs sleep after the start instead of ${expected}`);
}
