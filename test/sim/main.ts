/**
 * The command line of the simulator (USAGE). Runs K seeds from N on, M messages each, under faults, J of them at a time; with
 * --mutants, shows that each deliberate bug is found; with --crash-points, runs a seed once for each of its messages and each
 * kind of crash, with that crash at that message.
 */
import { parseArgs } from "node:util";
import { Coverage } from "./coverage.ts";
import { runCrashPoints } from "./crash-points.ts";
import { hunt } from "./hunt.ts";
import { inLanes } from "./jobs.ts";
import { MUTATIONS } from "./mutations.ts";
import { Progress } from "./progress.ts";
import type { SeedResult } from "./simulation.ts";

const USAGE =
  "npm run sim -- [--seed N] [--steps M] [--seeds K] [--mutants [--only TEXT] | --crash-points] [--jobs J] [--trace] [--json]";
const DEFAULT_STEPS = 2000;
const DEFAULT_SEEDS = 20;
/** Most bugs are found by the first seed; the rarest by one seed in about three hundred. */
const DEFAULT_HUNT_SEEDS = 400;
/** Messages of a seed at which crashes are tried: enough for rules to fire and expectations to end. */
const CRASH_POINTS = 400;
/** In this seed rules fire, send messages and wait for events. */
const CRASH_SEED = 5;
/** Coverage is required only of runs with enough seeds to reach everything. */
const COVERAGE_SEEDS_MIN = 50;
/** So many failures show whether seeds fail for one reason; more would only be a longer list. */
const FAILURES_MAX = 10;

interface Options {
  seed: number;
  steps: number;
  seeds: number;
  mutants: boolean;
  /** Only mutants whose name contains this text. */
  only: string;
  crashPoints: boolean;
  /** Seeds that run at a time, each on a thread. */
  jobs: number;
  trace: boolean;
  json: boolean;
}

function readOptions(): Options {
  const number = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    options: {
      seed: number,
      steps: number,
      seeds: number,
      jobs: number,
      mutants: flag,
      only: { type: "string", default: "" },
      "crash-points": flag,
      trace: flag,
      json: flag,
    },
  });
  const read = (text: string | undefined, otherwise: number): number => {
    if (text !== undefined && !/^[1-9]\d*$/.test(text)) throw new TypeError(`"${text}" is not a number of 1 or more`);
    return text === undefined ? otherwise : Number(text);
  };
  const seeds =
    values.seeds === undefined && values.seed !== undefined
      ? 1
      : read(values.seeds, values.mutants ? DEFAULT_HUNT_SEEDS : DEFAULT_SEEDS);
  const { mutants, only, "crash-points": crashPoints, trace, json } = values;
  const steps = read(values.steps, crashPoints ? CRASH_POINTS : DEFAULT_STEPS);
  const seed = read(values.seed, crashPoints ? CRASH_SEED : 1);
  const jobs = Math.max(1, read(values.jobs, 1));
  return { seed, steps, seeds, jobs, mutants, only, crashPoints, trace, json };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function linesOf({ seed, violation }: SeedResult, steps: number): string[] {
  if (violation === null) return [];
  const trace = violation.trace.map((line) => `  ${line}`);
  const again = `again: npm run sim -- --seed ${seed} --steps ${steps}`;
  return [`seed ${seed} failed at step ${violation.step}: ${violation.message}`, ...trace, again];
}

async function runSeeds(options: Options): Promise<boolean> {
  const { seed: first, seeds, steps, jobs, json } = options;
  const coverage = new Coverage();
  let messages = 0;
  const failed: SeedResult[] = [];
  const progress = new Progress(() => `${failed.length} failed, ${seeds - progress.seeds} to go`);
  const items = function* (): Iterable<number> {
    for (let seed = first; seed < first + seeds && failed.length < FAILURES_MAX; seed += 1) yield seed;
  };
  const echo = options.trace ? print : null;
  await inLanes(items(), { lanes: options.trace ? 1 : jobs, echo }, async (seed, run) => {
    const result = await run({ seed, messages: steps, mutation: null });
    coverage.add(result.coverage);
    messages += result.messages;
    if (result.violation !== null) failed.push(result);
    if (!json) for (const line of linesOf(result, steps)) progress.print(line);
    progress.seedEnded();
  });
  const isWhole = failed.length === 0 && seeds >= COVERAGE_SEEDS_MIN && steps >= DEFAULT_STEPS;
  const missing = isWhole ? coverage.missing() : [];
  const { seeds: ran, seconds } = progress;
  const passed = failed.length === 0 && missing.length === 0;
  if (json) print(JSON.stringify({ seeds: ran, messages, seconds, failed: failed.map(withoutCoverage), missing, coverage }));
  else {
    progress.print(coverage.render());
    for (const what of missing) print(`never met: ${what}`);
    const which = failed.length === 0 ? "" : ` (${failed.map(({ seed }) => seed).join(", ")})`;
    print(
      `${ran} seeds, ${messages} messages, ${seconds.toFixed(1)} s, ${failed.length} failed${which}; exit code ${passed ? 0 : 1}`,
    );
  }
  return passed;
}

function withoutCoverage({ coverage: _coverage, ...result }: SeedResult): unknown {
  return result;
}

async function runMutants({ seed, seeds, steps: messages, jobs, only, json }: Options): Promise<boolean> {
  const names = MUTATIONS.map(({ name }) => name).filter((name) => name.includes(only));
  const survivors: string[] = [];
  const table: { mutation: string; seed: number | null; rule: string | null }[] = [];
  const caught = (): string =>
    `${table.length - survivors.length} of ${names.length} mutants caught, ${survivors.length} survived`;
  const progress = new Progress(caught);
  await inLanes(names, { lanes: jobs, echo: null }, async (name, run) => {
    const found = await hunt(name, { seed, seeds, messages }, async (job) => {
      const result = await run(job);
      progress.seedEnded();
      return result;
    });
    table.push({ mutation: name, seed: found?.seed ?? null, rule: found?.violation?.rule ?? null });
    if (found === null) survivors.push(name);
    const verdict = found === null ? "SURVIVED" : `seed ${found.seed}: ${found.violation?.message.split("\n")[0]?.slice(0, 110)}`;
    if (!json) progress.print(`${name.padEnd(55)} ${verdict}`);
  });
  const passed = survivors.length === 0;
  if (json) print(JSON.stringify({ mutations: table, survived: survivors.length }));
  else {
    for (const name of survivors) progress.print(`not caught within ${seeds} seeds: ${name}`);
    progress.print(`${progress.seeds} seeds, ${caught()}, ${progress.seconds.toFixed(1)} s; exit code ${passed ? 0 : 1}`);
  }
  return passed;
}

async function runPoints(options: Options): Promise<boolean> {
  const { failed, runs, missing } = await runCrashPoints(options.seed, options.steps);
  for (const { point, fault, result } of failed) {
    print(`${fault} at message ${point}`);
    for (const line of linesOf(result, options.steps)) print(line);
  }
  for (const what of missing) print(`never met: ${what}`);
  print(`seed ${options.seed}: ${runs} crashes, ${failed.length} failed`);
  return failed.length === 0 && missing.length === 0;
}

/** Ends the process with code 2 for a command line that cannot be read. */
function optionsOrUsage(): Options {
  try {
    return readOptions();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
}

const options = optionsOrUsage();
const run = options.mutants ? runMutants : options.crashPoints ? runPoints : runSeeds;
const passed = await run(options);
process.exitCode = passed ? 0 : 1;
