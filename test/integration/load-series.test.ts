/** The load generator with the smallest sizes, against the compiled server. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { builtPath } from "../support/built-package.ts";

const MAIN = join(import.meta.dirname, "../load/main.ts");

builtPath("cli/main");

interface LoadJson {
  command: string;
  targets: { name: string; version: string }[];
  records: { phase: string; target: string; figures: { name: string; value: number }[]; notes: string[]; timeline: object }[];
  summary: { phase: string; name: string; ratio: number | null }[];
}

interface DurableJson {
  parts: LoadJson[];
  goals: { what: string; measured: number | null }[];
}

/** Runs a load test to its end. */
async function load(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return await promisify(execFile)(process.execPath, ["--conditions=millrace-src", MAIN, ...args], { maxBuffer: 2 ** 24 });
}

function figureOf({ records }: LoadJson, phase: string, target: string, name: string): number | undefined {
  const record = records.find((one) => one.phase === phase && one.target === target);
  return record?.figures.find((one) => one.name === name)?.value;
}

t.test("engines with slots and engines of the specified protocol execute bare and full runs on one server", async (t) => {
  const html = join(t.testdir(), "report.html");
  const sizes = ["--runs", "40", "--rounds", "1", "--engines", "2", "--engine-slots", "8", "--specified-engines", "3"];
  const { stdout, stderr } = await load("--slots", "--compiled", ...sizes, "--json", "--html", html);
  const report = JSON.parse(stdout) as LoadJson;
  t.same(
    report.records.map(({ phase, target, notes }) => [phase, target, notes]),
    ["bare runs", "full runs"].flatMap((phase) => ["slots", "specified protocol"].map((target) => [phase, target, []])),
  );
  // Four requests of the engine, and two more for the reports of a full run. The first polls were sent before.
  t.ok((figureOf(report, "bare runs", "specified protocol", "engine requests per run") ?? 0) > 3.5);
  t.ok((figureOf(report, "full runs", "specified protocol", "engine requests per run") ?? 0) > 5.5);
  for (const phase of ["bare runs", "full runs"]) {
    t.ok((figureOf(report, phase, "slots", "runs") ?? 0) > 0);
    t.ok((figureOf(report, phase, "slots", "engine requests per run") ?? 9) < 2.5, "each run has two reports");
  }
  t.match(report.command, /^npm run load -- --slots --compiled --runs 40/);
  t.match(readFileSync(html, "utf8"), /<h2>Simulated engines with slots<\/h2>/);
  t.match(stderr, /^round 1 of 1: full runs, specified protocol$/m);
});

t.test("runs are created in batches and one by one, with and without engines that take them", async (t) => {
  const sizes = ["--batch-size", "10", "--runs", "35", "--rounds", "1", "--engines", "2", "--engine-slots", "8"];
  const report = JSON.parse((await load("--batch", "--compiled", ...sizes, "--json")).stdout) as LoadJson;
  t.same(
    report.records.map(({ phase, target, notes }) => [phase, target, notes]),
    ["creation", "runs"].flatMap((phase) => ["batch", "single"].map((target) => [phase, target, []])),
  );
  t.equal(figureOf(report, "creation", "batch", "requests"), 4);
  t.equal(figureOf(report, "creation", "single", "requests"), 35);
  t.ok((figureOf(report, "runs", "batch", "runs") ?? 0) > 0);
  t.ok(report.summary.some(({ phase, name, ratio }) => phase === "runs" && name === "runs" && ratio !== null));
});

t.test("the requests of real engines are counted", async (t) => {
  const sizes = ["--workloads", "empty", "--runs", "20", "--rounds", "1", "--creators", "2"];
  const report = JSON.parse((await load("--real", ...sizes, "--count-requests", "--json")).stdout) as LoadJson;
  t.ok((figureOf(report, "empty", "millrace", "engine requests per run") ?? 0) > 0);
});

t.test("runs of real engines are created evenly, while their engines are replaced", async (t) => {
  const sizes = ["--workloads", "empty", "--runs", "60", "--per-second", "100", "--rounds", "1"];
  const report = JSON.parse((await load("--real", ...sizes, "--serve=--engine-max-runs=10", "--json")).stdout) as LoadJson;
  const creation = figureOf(report, "empty", "millrace", "creation of all") ?? 0;
  t.ok(creation >= 0.59, "60 runs at 100 a second");
  t.ok((figureOf(report, "empty", "millrace", "engine starts") ?? 0) > 1);
});

t.test("a round that starts its servers several times has one record for each of them", async (t) => {
  const sizes = ["--workloads", "empty", "--runs", "10", "--rounds", "1", "--starts", "2", "--turns", "2", "--traces", "1"];
  const report = JSON.parse((await load("--real", ...sizes, "--compare", "tree:.", "--json")).stdout) as LoadJson;
  t.same(
    report.records.map(({ phase, target }) => [phase, target]),
    ["millrace", "tree"].map((target) => ["empty", target]),
  );
  t.same(
    report.targets.map(({ name }) => name),
    ["millrace", "tree"],
  );
});

t.test("durable runs store their steps, sleep through a restart, and are queued when their sleeps end", async (t) => {
  const sizes = ["--runs", "20", "--steps", "5", "--sleeping", "30", "--due", "30", "--rounds", "1"];
  const report = JSON.parse((await load("--durable", "--compiled", ...sizes, "--json")).stdout) as DurableJson;
  const [steps, sleeping, ends] = report.parts;
  const figure = (part: LoadJson | undefined, phase: string, target: string, name: string) =>
    part === undefined ? undefined : figureOf(part, phase, target, name);
  for (const side of ["stored steps", "tasks only"]) t.ok((figure(steps, "steps", side, "steps") ?? 0) > 0, side);
  for (const home of ["sleeping runs", "empty home"]) t.ok((figure(sleeping, "sleeping", home, "start") ?? 0) > 0, home);
  for (const phase of ["evenly", "at-once"]) {
    t.ok((figure(ends, phase, "millrace", "due to queued p99") ?? -1) >= 0, phase);
    t.ok((figure(ends, phase, "millrace", "health slowest") ?? 0) > 0, phase);
  }
  const queued = figure(ends, "evenly", "millrace", "all queued after") ?? 0;
  t.ok(queued >= 900, "the last of 30 sleeps that end evenly over a second ends 967 ms after the first");
  t.equal(report.goals.length, 7);
  t.notOk(report.goals.some(({ measured }) => measured === null));
});

t.test("a wrong option ends with code 2 and the options of that kind of test", async (t) => {
  const failure = await load("--slots", "--engines", "none").catch((error: { code: number; stderr: string }) => error);
  t.match(failure, { code: 2, stderr: /--engines must be a number.*\n\nusage: npm run load -- --slots/ });
});
