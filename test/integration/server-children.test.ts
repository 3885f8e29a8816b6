/** A real server with real engines: what happens to runs and their child processes when one of the three ends. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { listProcesses } from "#system/run-processes";
import { listening, startCommand } from "../support/command-line.ts";
import { until } from "../support/served-home.ts";
import { testFolder } from "../support/test-folder.ts";

const FLOW = `import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { flow } from "millrace";
export const holding = flow("holding", { project: "p", crashRetries: 0 }, async () => {
  const child = spawn("sleep", ["300"], { stdio: "ignore", detached: true });
  writeFileSync(new URL("./new", import.meta.url), JSON.stringify([process.pid, child.pid]));
  renameSync(new URL("./new", import.meta.url), new URL("./pids", import.meta.url));
  await new Promise(() => undefined);
});
`;

/** A server that executes the flow, with the pids of the engine and of the flow's child process. */
async function holding(t: Test) {
  const home = mkdtempSync(join(tmpdir(), "millrace-children-"));
  const served = testFolder(t, { "holding.ts": FLOW });
  const started = startCommand(["serve", served, "--home", home, "--port", "0", "--no-open"]);
  const { child, errors } = started;
  await started.printed("Stop it with");
  const url = await listening(started, home);
  const body = JSON.stringify({ project: "p", flow: "holding" });
  const headers = { "content-type": "application/json" };
  const noted = Promise.withResolvers<void>();
  const watcher = watch(served, (_event, name) => name === "pids" && noted.resolve());
  const created = (await (await fetch(`${url}/api/runs`, { method: "POST", body, headers })).json()) as { id: number };
  await noted.promise;
  watcher.close();
  const pids = JSON.parse(readFileSync(join(served, "pids"), "utf8")) as number[];
  t.teardown(() => {
    for (const pid of [...pids, child.pid ?? 0]) {
      try {
        if (pid > 0) process.kill(pid, "SIGKILL");
      } catch {
        // The process has ended, as expected.
      }
    }
    rmSync(home, { recursive: true, force: true });
  });
  const [engine = 0, grandchild = 0] = pids;
  return { server: child, url, run: created.id, engine, grandchild, errors };
}

async function lives(pid: number): Promise<boolean> {
  return (await listProcesses()).some((one) => one.pid === pid);
}

t.test("child processes of a run end when its engine dies, also detached ones", async (t) => {
  const { url, run, engine, grandchild } = await holding(t);
  t.ok(await lives(grandchild));
  process.kill(engine, "SIGKILL");
  await until(async () => ((await lives(grandchild)) ? null : true));
  const { state } = (await (await fetch(`${url}/api/runs/${run}`)).json()) as { state: { type: string } };
  t.equal(state.type, "Failed");
});

t.test("Ctrl-C says how many runs go on in their engines and what a second one does, and the runs do go on", async (t) => {
  const { server, engine, grandchild, errors } = await holding(t);
  const ended = once(server, "exit");
  server.kill("SIGINT");
  t.same(await ended, [0, null]);
  t.match(
    errors(),
    "1 run goes on in its engine; the next server on this home takes over. A second Ctrl-C ends only the server.",
  );
  t.ok((await lives(engine)) && (await lives(grandchild)));
});
