/** The whole server process killed again and again while clients create runs: what was acknowledged is there afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { KILL_SECONDS } from "../support/fault-length.ts";
import { FaultLoad } from "../support/fault-load.ts";
import { endsByRun, integrityOf, storedRunIds } from "../support/stored-runs.ts";

const PROGRAM = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
/** Life of a server between its first answer and its death. */
const LIFE_MS = 2000;
/** The goal is a second; a start loads every module on a machine that may be busy. */
const READY_MAX_MS = 20_000;

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

t.test("kill -9 under load loses nothing that was acknowledged", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-kill-"));
  let child = serve(home);
  t.teardown(() => child.kill("SIGKILL"));
  let url: string | null = null;
  const load = new FaultLoad(() => {
    url ??= urlOf(home, child.pid);
    return url;
  });
  load.start(4, 2);
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
  await sleep(LIFE_MS / 2);
  load.stopCreating();
  await load.stop();
  const last = urlOf(home, child.pid);
  if (last === null) throw new Error("the last server is not there");
  const stored = await storedRunIds(last);
  t.same(
    load.acknowledged.filter((id) => !stored.has(id)),
    [],
    "no acknowledged run is lost",
  );
  t.equal(new Set(load.acknowledged).size, load.acknowledged.length, "no id is given twice");
  const ends = await endsByRun(last);
  t.same(
    [...ends].filter(([, count]) => count > 1),
    [],
    "no run ends twice",
  );
  t.same(
    load.completed.filter((id) => ends.get(id) !== 1),
    [],
    "an end that was acknowledged stays",
  );
  t.equal(load.silent, 0, "no request without an answer or an end");
  const figures = readyMs.map((ms) => ms.toFixed(0)).join(", ");
  t.ok(Math.max(...readyMs) < READY_MAX_MS, `from the kill to the next answer: ${figures} ms`);
  t.comment(`${load.acknowledged.length} creates acknowledged, ${load.completed.length} runs executed, ${load.cut} requests cut`);
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  t.same(await ended, [0, null], "an orderly stop at the end");
  t.match(integrityOf(home), /"ok"/);
  rmSync(home, { recursive: true });
});
