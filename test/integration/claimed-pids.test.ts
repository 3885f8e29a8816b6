/** An engine reports its process: the server believes that only with other evidence. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";

const KEY = { module: "m.ts", source_dir: "/nowhere" };

/** Gives a run to an engine with this pid, which then ignores the cancel of the run; returns why the run was cancelled. */
async function cancelUnderPid(server: ServedProcess, engine_id: string, pid: number): Promise<string> {
  const created = await server.call("POST", "/api/runs", { ...KEY, flow: "f", project: "p" });
  const id = Number(created.body["id"]);
  const polled = await server.call("POST", "/api/engine/work", { ...KEY, engine_id, pid, wait_ms: 0 });
  t.match(polled.body, { run: { run_id: id } });
  for (const type of ["Pending", "Running"]) await server.call("POST", `/api/runs/${id}/transition`, { type });
  await server.call("POST", `/api/runs/${id}/cancel`);
  return await until(async () => {
    const { state } = (await server.call("GET", `/api/runs/${id}`)).body as { state: { type: string; message: string } };
    return state.type === "Cancelled" ? state.message : null;
  });
}

t.test("a cancel ends the process of an engine, and not one that has nothing to do with it", async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  home.configure("[server]\ncancel_grace_secs = 0.1\n");
  const server = await home.serve();
  // The test acts as the engine: the first process is its child, the second has an unrelated parent.
  const own: ChildProcess = spawn("sleep", ["300"], { stdio: "ignore" });
  const ended = once(own, "exit");
  const unrelated = Number(execFileSync("sh", ["-c", "sleep 300 > /dev/null 2>&1 & echo $!"], { encoding: "utf8" }));
  t.teardown(() => {
    own.kill("SIGKILL");
    process.kill(unrelated, "SIGKILL");
  });
  t.equal(await cancelUnderPid(server, "kit-2", unrelated), "killed");
  // The process ends at the first signal: the server may see that before the second one is due.
  t.match(await cancelUnderPid(server, "kit-1", own.pid ?? 0), /^(?:killed|cancelled)$/);
  t.same(await ended, [null, "SIGTERM"]);
  const told = (signal: string): boolean =>
    server.output.includes(
      `engine kit-2 says that it is process ${unrelated}, but nothing else does: that process gets no ${signal}`,
    );
  await until(async () => (told("SIGTERM") && told("SIGKILL") ? true : null));
  t.ok(process.kill(unrelated, 0), "it lives");
});
