/** An engine of the specified protocol, whose run ends while the server is away. */
import { spawn } from "node:child_process";
import t from "tap";
import { startRestarted } from "../support/restarted-server.ts";

const TIMEOUT_SECONDS = 1;

t.test("a run that ended within its time limit while the server was away is reported after the limit", async (t) => {
  const server = await startRestarted(t);
  const engine = spawn("sleep", ["60"]);
  t.teardown(() => engine.kill());
  const post = async (path: string, body: object): Promise<Response> => {
    const { url } = await server.client.server();
    return await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  };
  const code = { module: "slow.py", source_dir: "/nowhere" };
  const flow = { ...code, flow: "slow", project: "away", options: { timeout_seconds: TIMEOUT_SECONDS } };
  const { id } = await server.client.runs.create(flow);
  await post("/api/engine/work", { engine_id: "e", pid: engine.pid, ...code });
  for (const type of ["Pending", "Running"]) t.equal((await post(`/api/runs/${id}/transition`, { type })).status, 200);
  await server.restart(TIMEOUT_SECONDS * 1_000, "SIGKILL");
  t.equal((await post(`/api/runs/${id}/transition`, { type: "Completed" })).status, 200);
  t.match((await server.client.runs.get(id)).state, { name: "Completed" });
  t.equal(engine.exitCode ?? engine.signalCode, null, "the engine was not stopped");
});
