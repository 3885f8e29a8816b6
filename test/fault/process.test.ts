/**
 * Kills the whole server process repeatedly while clients create runs: acknowledged data must exist afterwards.
 * MILLRACE_TEST_KILL_SECONDS sets for how long.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { examine } from "#server/operations/doctor";
import { builtPath } from "../support/built-package.ts";
import { checkRuns } from "../support/check-runs.ts";
import { FaultLoad, type LoadShape } from "../support/fault-load.ts";
import { drained } from "../support/stored-runs.ts";

/** Seconds of repeated kills of the whole process. */
const KILL_SECONDS = Number(process.env["MILLRACE_TEST_KILL_SECONDS"] ?? "60");
/** Interval of the kills. */
const KILL_EVERY_MS = 2000;
/**
 * A server lives at least this long after its first answer, so that there is work to lose: a slow start delays the next kill.
 */
const LIFE_MIN_MS = 1000;
/** Two thirds of the kills possible if every start took a second; starts of two seconds still reach this. */
const KILLS_MIN = Math.floor((KILL_SECONDS * 1000 * 2) / (3 * KILL_EVERY_MS));
/** The goal is a second; a busy machine gets ten times that. */
const READY_MAX_MS = 10_000;
const CLIENTS = 8;
const CREATES_PER_SECOND = 200;
/**
 * Creates that a client may miss per life of a server: the create cut by the kill, and one due after the pause before its
 * first.
 */
const CREATES_CUT = 2;
/** Time to execute the backlog of the kills; crashed runs are rerun after at most 15 s. */
const DRAIN_MAX_MS = 90_000;
/** Fewer of both than engines, so that runs wait. */
const RESOURCES = "[resources]\ndesk = 6\ntool = 3\n";

/** Seconds of kills while clients create runs as fast as they are answered. */
const FULL_RATE_SECONDS = KILL_SECONDS / 2;
const FULL_RATE_CLIENTS = 16;

/** Starts a server whose home is inside its served folder; the discovery file holds the address once the server listens. */
function serve(program: string, home: string): ChildProcess {
  const args = [program, "serve", dirname(home), "--home", home, "--port", "0", "--no-open", "--no-engines"];
  return spawn(process.execPath, args, { stdio: "ignore" });
}

/** The address of the server with this pid. */
function urlOf(home: string, pid: number | undefined): string | null {
  try {
    const found = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { pid: number; url: string };
    return found.pid === pid ? found.url : null;
  } catch {
    return null;
  }
}

/** Checks the load itself: as many kills as planned, and as many creates as requested while a server was up. */
function checkRate(t: Test, created: number, upMs: readonly number[]): void {
  t.ok(upMs.length >= KILLS_MIN, `${upMs.length} kills, at least ${KILLS_MIN}`);
  const upSeconds = upMs.reduce((sum, ms) => sum + ms, 0) / 1000;
  const least = Math.floor(upSeconds * CREATES_PER_SECOND) - upMs.length * CLIENTS * CREATES_CUT;
  t.ok(created >= least, `${created} creates in the ${upSeconds.toFixed(1)} s that servers were up, at least ${least}`);
}

/** The checks of `millrace doctor`: every page of the file and the promises about its rows. */
function checkHome(t: Test, home: string): void {
  const { checks } = examine({ home, version: "test", totals: null, clock: null });
  t.ok(
    checks.some(({ id }) => id === "file"),
    "the file of the store was checked",
  );
  t.same(
    checks.flatMap(({ id, findings }) => findings.filter(({ level }) => level === "broken").map(({ text }) => `${id}: ${text}`)),
    [],
    "the file is sound and every promise about its rows holds",
  );
}

interface Killed {
  load: FaultLoad;
  /** How long each server that was killed had answered. */
  upMs: number[];
}

/** Kills the server every two seconds for so long, then waits until all runs have ended, and checks what is stored. */
async function killLoop(t: Test, seconds: number, shape: LoadShape): Promise<Killed> {
  const program = builtPath("cli/main");
  const folder = mkdtempSync(join(tmpdir(), "millrace-kill-"));
  const home = join(folder, "home");
  writeFileSync(join(folder, "millrace.toml"), RESOURCES, { mode: 0o600 });
  let child = serve(program, home);
  t.teardown(() => child.kill("SIGKILL"));
  let url: string | null = null;
  const load = new FaultLoad(() => {
    url ??= urlOf(home, child.pid);
    return url;
  });
  load.start(shape);
  const readyMs: number[] = [];
  const upMs: number[] = [];
  let firstAnswerMs = await load.nextAnswer();
  let killMs = firstAnswerMs;
  const untilMs = performance.now() + seconds * 1000;
  while (performance.now() < untilMs) {
    await sleep(Math.max(killMs + KILL_EVERY_MS, firstAnswerMs + LIFE_MIN_MS) - performance.now());
    killMs = performance.now();
    upMs.push(killMs - firstAnswerMs);
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    url = null;
    child = serve(program, home);
    firstAnswerMs = await load.nextAnswer();
    readyMs.push(firstAnswerMs - killMs);
  }
  load.stopCreating();
  const last = urlOf(home, child.pid);
  if (last === null) throw new Error("the last server is not there");
  t.ok(await drained(last, DRAIN_MAX_MS), "every run is executed");
  await load.stop();
  await checkRuns(t, load, last);
  const figures = readyMs.map((ms) => ms.toFixed(0)).join(", ");
  t.ok(Math.max(...readyMs) < READY_MAX_MS, `from the kill to the next answer: ${figures} ms`);
  t.comment(
    `${upMs.length} kills, ${load.acknowledged.length} creates acknowledged, ${load.completed.length} runs executed, ${load.cut} requests cut`,
  );
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  t.same(await ended, [0, null], "an orderly stop at the end");
  checkHome(t, home);
  rmSync(folder, { recursive: true });
  return { load, upMs };
}

t.test("kill -9 every two seconds under 200 creates/s and 8 engines loses, doubles and leaks nothing", async (t) => {
  const { load, upMs } = await killLoop(t, KILL_SECONDS, {
    clients: CLIENTS,
    engines: 8,
    createsPerSecond: CREATES_PER_SECOND,
    resources: { desk: 1 },
    lease: { tool: 1 },
  });
  checkRate(t, load.acknowledged.length, upMs);
});

t.test("kill -9 every two seconds at full rate under engines with slots loses, doubles and leaks nothing", async (t) => {
  const { load } = await killLoop(t, FULL_RATE_SECONDS, { clients: FULL_RATE_CLIENTS, engines: 0, slotEngines: 4 });
  t.ok(load.completed.length > 0, `${load.completed.length} ends reported`);
  t.equal(new Set(load.completed).size, load.completed.length, "no run is executed to its end twice");
});
