/**
 * npm run sim -- [--seed N] [--steps M] [--seeds K] [--mutants [--only TEXT] | --crash-points] [--trace] [--json]
 * Runs K seeds from N on, M messages each, under faults; with --mutants, shows that each deliberate bug is found; with
 * --crash-points, runs a seed once for each of its messages and each kind of crash, with that crash at that message.
 */
import { parseArgs } from "node:util";
import { Coverage } from "./coverage.ts";
import { runCrashPoints } from "./crash-points.ts";
import { hunt } from "./hunt.ts";
import { MUTATIONS } from "./mutations.ts";
import { runSeed, type SeedResult } from "./simulation.ts";

const DEFAULT_STEPS = 2000;
const DEFAULT_SEEDS = 20;
/** Most bugs are found by the first seed; the rarest by one seed in about thirty. */
const DEFAULT_HUNT_SEEDS = 200;
/** Messages of a seed at which crashes are tried: enough for rules to fire and expectations to end. */
const CRASH_POINTS = 400;
/** In this seed rules fire, send messages and wait for events. */
const CRASH_SEED = 5;
/** Coverage is required only of runs with enough seeds to reach everything. */
const COVERAGE_SEEDS_MIN = 50;

interface Options {
  seed: number;
  steps: number;
  seeds: number;
  mutants: boolean;
  /** Only mutants whose name contains this text. */
  only: string;
  crashPoints: boolean;
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
      mutants: flag,
      only: { type: "string", default: "" },
      "crash-points": flag,
      trace: flag,
      json: flag,
    },
  });
  const read = (text: string | undefined, otherwise: number): number => (text === undefined ? otherwise : Number(text));
  const seeds =
    values.seeds === undefined && values.seed !== undefined
      ? 1
      : read(values.seeds, values.mutants ? DEFAULT_HUNT_SEEDS : DEFAULT_SEEDS);
  const { mutants, only, "crash-points": crashPoints, trace, json } = values;
  const steps = read(values.steps, crashPoints ? CRASH_POINTS : DEFAULT_STEPS);
  const seed = read(values.seed, crashPoints ? CRASH_SEED : 1);
  return { seed, steps, seeds, mutants, only, crashPoints, trace, json };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printViolation({ seed, violation }: SeedResult, steps: number): void {
  if (violation === null) return;
  print(`seed ${seed} failed at step ${violation.step}: ${violation.message}`);
  for (const line of violation.trace) print(`  ${line}`);
  print(`again: npm run sim -- --seed ${seed} --steps ${steps}`);
}

async function runSeeds(options: Options): Promise<boolean> {
  const coverage = new Coverage();
  const startedMs = performance.now();
  let ran = 0;
  let messages = 0;
  const failed: SeedResult[] = [];
  for (let seed = options.seed; seed < options.seed + options.seeds; seed += 1) {
    const echo = options.trace ? print : null;
    const result = await runSeed({ seed, messages: options.steps, mutation: null, echo });
    coverage.add(result.coverage);
    ran += 1;
    messages += result.messages;
    if (result.violation !== null) {
      failed.push(result);
      if (!options.json) printViolation(result, options.steps);
      break;
    }
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const missing =
    failed.length === 0 && options.seeds >= COVERAGE_SEEDS_MIN && options.steps >= DEFAULT_STEPS ? coverage.missing() : [];
  if (options.json)
    print(JSON.stringify({ seeds: ran, messages, seconds, failed: failed.map(withoutCoverage), missing, coverage }));
  else {
    print(coverage.render());
    for (const what of missing) print(`never met: ${what}`);
    print(`${ran} seeds, ${messages} messages, ${seconds.toFixed(1)} s, ${failed.length} failed`);
  }
  return failed.length === 0 && missing.length === 0;
}

function withoutCoverage({ coverage: _coverage, ...result }: SeedResult): unknown {
  return result;
}

async function runMutants(options: Options): Promise<boolean> {
  let survived = 0;
  const table: unknown[] = [];
  for (const mutation of MUTATIONS.filter(({ name }) => name.includes(options.only))) {
    const found = await hunt(mutation, { seed: options.seed, seeds: options.seeds, messages: options.steps });
    if (found === null) survived += 1;
    table.push({ mutation: mutation.name, seed: found?.seed ?? null, rule: found?.violation?.rule ?? null });
    const verdict = found === null ? "SURVIVED" : `seed ${found.seed}: ${found.violation?.message.split("\n")[0]?.slice(0, 110)}`;
    if (!options.json) print(`${mutation.name.padEnd(55)} ${verdict}`);
  }
  if (options.json) print(JSON.stringify({ mutations: table, survived }));
  return survived === 0;
}

async function runPoints(options: Options): Promise<boolean> {
  const { failed, runs, missing } = await runCrashPoints(options.seed, options.steps);
  for (const { point, fault, result } of failed) {
    print(`${fault} at message ${point}`);
    printViolation(result, options.steps);
  }
  for (const what of missing) print(`never met: ${what}`);
  print(`seed ${options.seed}: ${runs} crashes, ${failed.length} failed`);
  return failed.length === 0 && missing.length === 0;
}

const options = readOptions();
const run = options.mutants ? runMutants : options.crashPoints ? runPoints : runSeeds;
const passed = await run(options);
process.exitCode = passed ? 0 : 1;
