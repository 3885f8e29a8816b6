import t from "tap";
import { listFromPs, listProcesses, processesOf } from "#system/run-processes";
import { startEngine } from "../support/engine-process.ts";
import type { ServedRun } from "../support/protocol-server.ts";

const { server } = await startEngine(t, "leaving.ts", ["--slots", "1", "--grace", "0.5"]);

/** The pids that the flow reports of its started processes. */
async function pidsOf(run: ServedRun): Promise<number[]> {
  await server.until(() => server.logs(run).some((line) => line.startsWith("pids")));
  const line = server.logs(run).find((text) => text.startsWith("pids")) ?? "";
  return [...line.matchAll(/\d+/g)].map(([pid]) => Number(pid));
}

async function living(pids: readonly number[]): Promise<number[]> {
  return (await listProcesses()).map(({ pid }) => pid).filter((pid) => pids.includes(pid));
}

async function cancelled(run: ServedRun): Promise<ServedRun> {
  server.cancel(run);
  return await server.ended(run);
}

t.test("a cancel ends the child processes of the run, whatever they make of SIGTERM", async (t) => {
  for (const flow of ["waits", "stubborn"]) {
    const run = server.enqueue(flow);
    const pids = await pidsOf(run);
    t.same(await living(pids), pids);
    await cancelled(run);
    t.equal(run.state.type, "Cancelled");
    t.same(await living(pids), [], flow);
    t.match(
      server.logs(run).at(-1),
      /cannot be told to be this run's go on: sleep \(\d+\)/,
      "the helper of the module is only named",
    );
  }
});

t.test(
  "a cancel finds processes that left their session and parent, and those below that have another environment",
  async (t) => {
    const run = server.enqueue("hidden");
    const pids = await pidsOf(run);
    t.equal((await living(pids)).length, 3);
    await cancelled(run);
    t.same(await living(pids), []);
  },
);

t.test("a cancel ends the child that a synchronous call waits for", async (t) => {
  const run = server.enqueue("blocked");
  await pidsOf(run);
  await cancelled(run);
  t.equal(run.state.type, "Cancelled");
  t.equal((await server.ended(server.enqueue("fails"))).state.type, "Completed", "the engine serves on");
});

t.test("a time limit ends child processes, also detached ones", async (t) => {
  const run = server.enqueue("timed");
  const pids = await pidsOf(run);
  await server.ended(run);
  t.equal(run.state.name, "TimedOut");
  t.same(await living(pids), []);
});

t.test("after success what is left running ends with a warning, and what was detached stays and is named", async (t) => {
  const run = await server.ended(server.enqueue("leaves"));
  const [ended = 0, stays = 0] = await pidsOf(run);
  t.same(await living([ended, stays]), [stays]);
  const [staying, warning] = server.logs(run).slice(1);
  t.match(staying, `go on: sleep (${stays})`);
  t.match(warning, `are ended with the run: sleep (${ended}); one that is to stay is started with \`detached: true\``);
  process.kill(stays);
});

t.test("an attempt that fails leaves no child process to the next, and neither does a thread that ends", async (t) => {
  const failed = await server.ended(server.enqueue("fails"));
  t.equal(failed.state.type, "Completed");
  t.match(server.logs(failed).at(-1), /had not ended are ended with the run: sleep/);
  t.same(await living(await pidsOf(failed)), []);
  const ended = await server.ended(server.enqueue("ended"));
  t.equal(ended.state.type, "Crashed");
  t.same(await living(await pidsOf(ended)), []);
});

t.test("without /proc, ps gives the same result", async (t) => {
  const run = server.enqueue("waits");
  const pids = await pidsOf(run);
  const id = (await listProcesses()).find(({ pid }) => pid === pids[0])?.run ?? "";
  t.not(id, "");
  const found = processesOf(id, await listFromPs());
  t.same(
    found.map(({ pid, command }) => [pid, command]),
    [[pids[0], "sleep"]],
  );
  await cancelled(run);
});
