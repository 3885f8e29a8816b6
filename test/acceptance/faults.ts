/** One run ends its engine, or does not stop; the others end well all the same. */
import type { Run } from "#sdk/client/index";
import type { Check } from "./check.ts";
import type { Outside } from "./outside.ts";
import { readEach, type ServedFolder } from "./served-folder.ts";
import type { Sizes } from "./sizes.ts";

interface Fault {
  flow: string;
  /** How the run at fault ends, and why. */
  ends: string;
  says: RegExp;
  isCancelled?: true;
}

const FAULTS: readonly Fault[] = [
  { flow: "exits", ends: "Crashed", says: /^process\.exit\(3\) was called/ },
  { flow: "rejects", ends: "Crashed", says: /^unhandled rejection: Error: lost/ },
  { flow: "exhausts", ends: "Crashed", says: /out of memory/ },
  { flow: "limited", ends: "Failed", says: /timed out after 1 s/ },
  { flow: "loops", ends: "Cancelled", says: /cancelled/, isCancelled: true },
];

const NEIGHBOURS = 7;

export async function oneAtFault(served: ServedFolder, outside: Outside, _: Sizes, check: Check): Promise<void> {
  for (const fault of FAULTS) await meet(served, outside, fault, check);
}

async function meet(served: ServedFolder, outside: Outside, fault: Fault, check: Check): Promise<void> {
  const { flow, isCancelled } = fault;
  const neighbours = await served.create("waits", Array(NEIGHBOURS).fill({ url: outside.gate(flow) }));
  await outside.arrived(flow, NEIGHBOURS);
  const [faulty] = await served.create(flow, [{ url: outside.first(`first ${flow}`) }]);
  if (faulty === undefined) throw new Error("no run was created");
  if (isCancelled) {
    await outside.called(`first ${flow}`);
    await served.client.runs.cancel(faulty.id);
  }
  const ended = await served.ended(faulty.id);
  outside.open(flow);
  const lines = await readEach(neighbours, ({ id }) => served.line(id));
  const again = lines.filter(({ length }) => length > 1);
  check.figure(
    `${flow}: ${ended.state.name}, "${String(ended.state.message).slice(0, 60)}"; ${NEIGHBOURS - again.length} neighbours ended in place, ${again.length} ran again`,
  );
  check.same(ended.state.type, fault.ends, `${flow} ends`);
  check.that(fault.says.test(String(ended.state.message)), `${flow} says why: ${ended.state.message}`);
  check.same(
    lines.map((line) => line.at(-1)?.state.type),
    Array(NEIGHBOURS).fill("Completed"),
    `neighbours of ${flow}`,
  );
  for (const line of again) checkRerun(line, flow, check);
  if (fault.ends === "Crashed")
    check.same((await served.line(faulty.id)).at(-1)?.state.type, "Completed", `the rerun of ${flow}`);
}

/** A neighbour ran again once, and the crash was not counted. */
function checkRerun(line: readonly Run[], flow: string, check: Check): void {
  check.same(line.length, 2, `runs in the line of a neighbour of ${flow}`);
  const [first] = line;
  const { uncounted, fault } = (first?.state.details ?? {}) as { uncounted?: unknown; fault?: unknown };
  check.same(uncounted, true, `a neighbour of ${flow} is run again without being counted`);
  check.that(fault === "other" || fault === "unknown", `a neighbour of ${flow} is not at fault`);
}

/** Runs that must not be repeated, beside others that end their engines. */
export async function neverTwice(served: ServedFolder, outside: Outside, sizes: Sizes, check: Check): Promise<void> {
  const names = Array.from({ length: sizes.onceRuns }, (_, n) => `once-${n}`);
  const runs = await served.create(
    "once",
    names.map((name) => ({ count: outside.first(name), url: outside.slow(300) })),
  );
  const faulty = await served.create(
    "exits",
    names.map((name) => ({ url: outside.first(`beside ${name}`) })),
  );
  const states = (await readEach(runs, ({ id }) => served.ended(id))).map(({ state }) => state.type);
  const lines = await readEach(faulty, ({ id }) => served.line(id));
  check.figure(
    `${names.length} runs with crash_retries 0 beside as many that exit: begun ${names.map((name) => outside.countOf(name)).join()}`,
  );
  check.same(
    states,
    names.map(() => "Completed"),
    "runs with crash_retries 0",
  );
  check.same(
    names.map((name) => outside.countOf(name)),
    names.map(() => 1),
    "how often each began",
  );
  // Runs that end each other's engine again and again reach their crash limit.
  const isOver = (line: readonly Run[]) => ["Completed", "Failed"].includes(line.at(-1)?.state.type ?? "");
  check.that(lines.every(isOver), "the lines of the others end");
}

/** The engine of a run that must not be repeated is killed. */
export async function killedOnce(served: ServedFolder, outside: Outside, _: Sizes, check: Check): Promise<void> {
  const [run] = await served.create("once", [{ count: outside.first("killed"), url: outside.gate("killed-gate") }]);
  await outside.arrived("killed-gate", 1);
  const { engine_pid } = await served.client.runs.get(run?.id ?? 0);
  process.kill(engine_pid ?? 0, "SIGKILL");
  const { state } = await served.ended(run?.id ?? 0);
  check.figure(`crash_retries 0, engine killed: ${state.type}, "${state.message}", begun ${outside.countOf("killed")} time`);
  check.same([state.type, outside.countOf("killed")], ["Failed", 1], "a killed run with crash_retries 0");
}

/** A flow that always exhausts its memory ends after its retries, whoever is beside it. */
export async function alwaysExhausts(served: ServedFolder, outside: Outside, _: Sizes, check: Check): Promise<void> {
  const neighbours = await served.create("waits", Array(NEIGHBOURS).fill({ url: outside.gate("always") }));
  await outside.arrived("always", NEIGHBOURS);
  const [run] = await served.create("always-exhausts", [{}]);
  await served.ended(run?.id ?? 0);
  // Its neighbours are run again alone, each in an engine of its own, which it waits for.
  outside.open("always");
  const line = await served.line(run?.id ?? 0);
  const last = line.at(-1);
  check.figure(
    `always out of memory: ${line.length} runs, the last ${last?.state.type}, "${String(last?.state.message).slice(0, 80)}"`,
  );
  check.same(last?.state.type, "Failed", "the last run");
  // The first run, at most one that is not counted, and two retries.
  check.that(line.length >= 3 && line.length <= 4, `${line.length} runs in the line`);
  const lines = await readEach(neighbours, ({ id }) => served.line(id));
  check.same(
    lines.map((each) => each.at(-1)?.state.type),
    Array(NEIGHBOURS).fill("Completed"),
    "its neighbours",
  );
  check.figure(`its neighbours: ${lines.map(({ length }) => length).join()} runs each`);
}
