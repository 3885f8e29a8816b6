/** What belongs to a run stays with it, however many runs interleave. */
import type { Run } from "#sdk/client/index";
import type { Check } from "./check.ts";
import type { Outside } from "./outside.ts";
import { readEach, type ServedFolder } from "./served-folder.ts";
import type { Sizes } from "./sizes.ts";

const LINES = 3 + 6 + 6 + 1;
/** Every so many runs, one is cancelled. */
const CANCELLED_EVERY = 20;

export async function interleave(served: ServedFolder, _: Outside, sizes: Sizes, check: Check): Promise<void> {
  const marks = Array.from({ length: sizes.interleaved }, (_, n) => `m${n}${n % CANCELLED_EVERY === 0 ? "c" : "e"}`);
  const fromMs = performance.now();
  const created = await served.create(
    "mixed",
    marks.map((mark) => ({ mark })),
  );
  await cancelMarked(
    served,
    created.filter((_, n) => n % CANCELLED_EVERY === 0).map(({ id }) => id),
  );
  await served.allEnded("mixed");
  const seconds = (performance.now() - fromMs) / 1_000;
  const engines = new Set<unknown>();
  const foreign = await readEach(created, async ({ id }) => {
    const run = await served.client.runs.get(id);
    engines.add(run.engine_id);
    return await wrongIn(served, run, marks[created.findIndex((each) => each.id === id)] ?? "");
  });
  const wrong = foreign.flat();
  check.figure(
    `${marks.length} interleaved runs on ${engines.size} engines in ${seconds.toFixed(1)} s: ${wrong.length} with something of another`,
  );
  check.that(wrong.length === 0, `nothing got into another run: ${wrong.slice(0, 5).join("; ")}`);
}

/** Cancels each run once it waits for that. */
async function cancelMarked(served: ServedFolder, ids: readonly number[]): Promise<void> {
  await readEach(ids, async (id) => {
    while ((await served.client.runs.logs(id, { search: " waits" }).first(1)).length === 0);
    await served.client.runs.cancel(id);
  });
}

async function wrongIn({ client }: ServedFolder, run: Run, mark: string): Promise<string[]> {
  const [lines, artifacts, events, tasks] = await Promise.all([
    client.runs.logs(run.id).first(100),
    client.runs.artifacts(run.id),
    client.events.list({ run_id: run.id }).first(100),
    client.runs.tasks(run.id),
  ]);
  const isCancelled = mark.endsWith("c");
  const wrong: string[] = [];
  const expect = (isSo: boolean, what: string) => {
    if (!isSo) wrong.push(`${mark}: ${what}`);
  };
  expect(run.state.type === (isCancelled ? "Cancelled" : "Completed"), run.state.type);
  const foreign = lines.filter(({ message }) => !message.startsWith(`${mark} `));
  expect(foreign.length === 0, `lines ${foreign.map(({ message }) => message).join("|")}`);
  expect(lines.length === LINES + (isCancelled ? 1 : 0), `${lines.length} lines`);
  expect(lines.filter(({ message }) => message === `${mark} aborted`).length === (isCancelled ? 1 : 0), "signal");
  expect(
    artifacts.length >= 1 && artifacts.every(({ key }) => key === mark),
    `artifacts ${artifacts.map(({ key }) => key).join()}`,
  );
  const custom = events.filter(({ name }) => name.startsWith("custom."));
  expect(
    custom.length === 3 && custom.every(({ name }) => name === `custom.${mark}`),
    `events ${custom.map(({ name }) => name).join()}`,
  );
  expect(tasks.length === 6, `${tasks.length} task runs`);
  return wrong;
}
