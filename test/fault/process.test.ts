/** The whole server process killed again and again while clients create runs: what was acknowledged is there afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { examine } from "#server/operations/doctor";
import { KILL_SECONDS } from "../support/fault-length.ts";
import { FaultLoad } from "../support/fault-load.ts";
import { drained, endsByRun, resourcesInUse, storedRunIds } from "../support/stored-runs.ts";

const PROGRAM = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
/** Life of a server between its first answer and its death. */
const LIFE_MS = 2000;
/** The goal is a second; a start loads every module on a machine that may be busy. */
const READY_MAX_MS = 20_000;
/** Time in which the backlog of the kills must be executed; runs that crashed are rerun after 15 s at the latest. */
const DRAIN_MAX_MS = 90_000;
/** Fewer of both than there are engines, so that runs wait for them. */
const RESOURCES = "[resources]\ndesk = 6\ntool = 3\n";

/** Starts a server on a home; its address is in the discovery file once it listens. */
function serve(home: string): ChildProcess {
  const args = ["--conditions=millrace-src", PROGRAM, "serve", home, "--home", home, "--port", "0", "--no-open", "--no-engines"];
  const env = { ...process.env, NODE_OPTIONS: "" };
  return spawn(process.execPath, args, { stdio: "ignore", env });
}

/** The address of the server that runs as this process. */
function urlOf(home: string, pid: number | undefined): string | null {
  try {
    const found = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { pid: number; url: string };
    return found.pid === pid ? found.url : null;
  } catch {
    return null;
  }
}

/** What clients were told is compared with what the last server tells. */
async function checkRuns(t: Test, load: FaultLoad, url: string): Promise<void> {
  const stored = await storedRunIds(url);
  t.same(
    load.acknowledged.filter((id) => !stored.has(id)),
    [],
    "no acknowledged run is lost",
  );
  t.equal(new Set(load.acknowledged).size, load.acknowledged.length, "no id is given twice");
  const ends = await endsByRun(url);
  t.same(
    [...stored].filter((id) => ends.get(id) !== 1),
    [],
    "every run has ended, and once",
  );
  t.same(await resourcesInUse(url), [], "no lease is left");
  t.equal(load.silent, 0, "no request without an answer or an end");
}

/** The checks of `millrace doctor`: every page of the file and the promises about its rows. */
function checkHome(t: Test, home: string): void {
  const { checks } = examine({ home, version: "test", totals: null });
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

t.test("kill -9 every two seconds under 200 creates/s and 8 engines loses, doubles and leaks nothing", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-kill-"));
  writeFileSync(join(home, "millrace.toml"), RESOURCES, { mode: 0o600 });
  let child = serve(home);
  t.teardown(() => child.kill("SIGKILL"));
  let url: string | null = null;
  const load = new FaultLoad(() => {
    url ??= urlOf(home, child.pid);
    return url;
  });
  load.start({ clients: 8, engines: 8, createsPerSecond: 200, resources: { desk: 1 }, lease: { tool: 1 } });
  await load.nextAnswer();
  const readyMs: number[] = [];
  const untilMs = performance.now() + KILL_SECONDS * 1000;
  while (performance.now() < untilMs) {
    await sleep(LIFE_MS);
    const fromMs = performance.now();
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    url = null;
    child = serve(home);
    readyMs.push((await load.nextAnswer()) - fromMs);
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
    `${readyMs.length} kills, ${load.acknowledged.length} creates acknowledged, ${load.completed.length} runs executed, ${load.cut} requests cut`,
  );
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  t.same(await ended, [0, null], "an orderly stop at the end");
  checkHome(t, home);
  rmSync(home, { recursive: true });
});
