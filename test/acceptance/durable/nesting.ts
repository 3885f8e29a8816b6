/** Runs that wait for their children or sleep hold no engine: one engine with one slot is enough for all of them. */
import type { Check } from "../check.ts";
import { readEach, ServedFolder } from "../served-folder.ts";

const DEPTH = 3;
const SLEEPERS = 20;
const SLEEP_SECONDS = 6;

export async function acceptNesting(folder: string, check: Check): Promise<void> {
  const served = await ServedFolder.start(folder, { settings: "[server]\nmax_engines = 1\nengine_slots = 1\n" });
  try {
    const fromMs = performance.now();
    const sleepers = await served.create("sleeps", Array(SLEEPERS).fill({ seconds: SLEEP_SECONDS }));
    const [parent] = await served.create("nested", [{}]);
    const ended = await served.ended(parent?.id ?? 0);
    const slept = await readEach(sleepers, ({ id }) => served.ended(id));
    check.figure(
      `${DEPTH} parents and ${SLEEPERS} sleeps of ${SLEEP_SECONDS} s on one engine with one slot: ${((performance.now() - fromMs) / 1_000).toFixed(1)} s`,
    );
    check.same([ended.state.name, ended.state.details?.["result"]], ["Completed", DEPTH + 1], "parents on one slot");
    const early = slept.filter(({ state }) => Number(state.details?.["result"]) < SLEEP_SECONDS * 1_000 - 50);
    check.same(
      slept.map(({ state }) => state.name),
      Array(SLEEPERS).fill("Completed"),
      "the sleepers",
    );
    check.same(early.length, 0, "sleeps that ended too early");
  } finally {
    await served.stop();
  }
}
