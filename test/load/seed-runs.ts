/**
 * Fills a store with ended runs through the API: simple runs of several flows, with tags and different ends. The simulated
 * engines execute them, so any server with this protocol can be filled.
 */
import { type LoadFlow, transitionBody } from "./engine-protocol.ts";
import type { Fleet } from "./fleet.ts";
import { LoadFailed } from "./load-failed.ts";
import { SeededRandom } from "./random.ts";

/** Seeding ends after this long with the runs created so far. */
const SEED_LIMIT_MS = 1_800_000;
const FLOWS = 4;
const TAGS = ["nightly", "hourly", "team-a", "team-b", "release"];
/** Percentage of runs that fail or are cancelled. */
const FAILED_PERCENT = 8;
const CANCELLED_PERCENT = 2;
const COMPLETED = transitionBody("Completed");
const FAILED = transitionBody("Failed", "Failed", "ValueError: total differs from yesterday");
const CANCELLED = transitionBody("Cancelled", "Cancelled", "cancelled");

/** Returns the number of created runs. Rejects if the server refuses runs. */
export async function seedRuns(fleet: Fleet, count: number, seed: number): Promise<number> {
  const random = new SeededRandom(seed);
  const before = fleet.recorder.completed;
  const { tasks, logs } = fleet.size;
  fleet.size.tasks = 0;
  fleet.size.logs = 0;
  fleet.outcomeOf = (number) => outcomeOf(number, seed);
  const limit = setTimeout(() => fleet.stopCreating(), SEED_LIMIT_MS);
  try {
    const { inFlight } = fleet.size;
    // Register each flow before other creators use it.
    for (let n = 0; n < FLOWS; n++) {
      await fleet.create({ runsMax: 1, inFlight, describe: () => ({ flow: flowOf(fleet.flow, n), registers: true, tags: [] }) });
    }
    await fleet.create({
      runsMax: Math.max(0, count - FLOWS),
      inFlight,
      describe: () => {
        const tag = TAGS[random.below(TAGS.length)] ?? "";
        return { flow: flowOf(fleet.flow, random.below(FLOWS)), registers: false, tags: [tag] };
      },
    });
    if (!(await fleet.until(() => fleet.inFlight === 0, SEED_LIMIT_MS))) throw new LoadFailed("seeded runs never finished");
    if (fleet.recorder.failed > 0) throw new LoadFailed(`seeding failed: ${fleet.recorder.errors.join("; ")}`);
    return fleet.recorder.completed - before;
  } finally {
    clearTimeout(limit);
    fleet.outcomeOf = null;
    fleet.size.tasks = tasks;
    fleet.size.logs = logs;
  }
}

/** All flows use the engines' module, so every engine can run them. */
function flowOf(flow: LoadFlow, n: number): LoadFlow {
  return n === 0 ? flow : { ...flow, name: `${flow.name}-${n}` };
}

function outcomeOf(number: number, seed: number): string {
  const percent = new SeededRandom(seed + number).below(100);
  if (percent < FAILED_PERCENT) return FAILED;
  return percent < FAILED_PERCENT + CANCELLED_PERCENT ? CANCELLED : COMPLETED;
}
