import { fileURLToPath } from "node:url";
import t from "tap";
import { serveFlows } from "../support/flow-server.ts";
import { socketPath } from "../support/socket-path.ts";

const FLOWS = fileURLToPath(new URL("./service-flows", import.meta.url));

t.test("what flows ask of their server", { timeout: 120_000 }, async (t) => {
  const { client, start, seen, reached, happened } = await serveFlows(
    t,
    FLOWS,
    ...["--token", "secret", "--socket", socketPath(t)],
  );
  await client.patchSettings({ resources: { disk: 2 } });

  await t.test("a run pauses at each question and goes on with its answer", async (t) => {
    const { id } = await start("questions");
    await reached(id, "Paused");
    t.match((await client.runs.get(id)).state, {
      message: "First?",
      details: { prompt: "First?", schema: null, task_run: null },
    });
    t.same(await client.runs.answers(id), []);
    t.equal((await client.runs.resume(id, null)).state.name, "Resuming");
    await reached(id, "Paused");
    const { state } = await client.runs.get(id);
    const asking = (await client.runs.tasks(id)).find(({ external_id }) => external_id === state.details["task_run"]);
    t.match(asking, { name: "ask", state: { type: "Cancelled", message: "paused for input" } });
    t.match(state.details["schema"], { type: "object", required: ["publish"] });
    await t.rejects(client.runs.resume(id, {}), { status: 422, message: /answer "publish" is required/ });
    await t.rejects(client.runs.resume(id, { publish: "perhaps" }), {
      status: 422,
      message: /answer "publish": expected boolean/,
    });
    t.equal((await client.runs.get(id)).state.name, "Paused", "a refused answer changes nothing");
    t.same(await client.runs.answers(id), [null]);
    await client.runs.resume(id, { publish: true });
    const { result, run } = await client.waitFor<{ first: unknown; second: unknown }>(id);
    t.same(result, { first: null, second: { publish: true } }, run.state.message ?? "");
    t.same(await client.runs.answers(id), [null, { publish: true }]);
    const lines = await client.runs.logs(id).first(10);
    t.same(
      lines.map(({ message }) => message),
      ["from the top", "from the top", "from the top"],
    );
    const events = await client.events.list({ run_id: id, ascending: true }).first(100);
    const wanted = /^run\.(paused|resumed)$/;
    t.same(
      events.map(({ name }) => name).filter((name) => wanted.test(name)),
      ["run.paused", "run.resumed", "run.paused", "run.resumed"],
    );
  });

  await t.test("variables are kept by the server, secrets are opened with the key of the home", async (t) => {
    const { id } = await start("variables", { name: "etl/state" });
    t.same((await client.waitFor(id)).result, { before: "nothing", after: { was: "nothing" }, removed: false });
    t.match(await client.variables.get("etl/state"), { value: "********", secret: true, tags: ["flow"] });
  });

  await t.test("resources are taken by a flow and by a task, events are recorded", async (t) => {
    const { id } = await start("resources");
    t.same((await client.waitFor(id)).result, ["flow", "task"]);
    const [event] = await client.events.list({ name: "services.held" }).first(1);
    t.match(event, { run_id: id, payload: { disk: 1 }, resource: { kind: "run" } });
  });

  await t.test("a task waits as AwaitingResource for what another run holds", async (t) => {
    const holder = await start("holder");
    await happened("services.holding");
    const { id } = await start("resources");
    await seen(
      (message) =>
        message.event === "task_run.updated" && message.data.run_id === id && message.data.state.name === "AwaitingResource",
    );
    await client.runs.cancel(holder.id);
    t.same((await client.waitFor(id)).result, ["flow", "task"]);
    t.equal((await client.waitFor(holder.id)).run.state.type, "Cancelled");
  });

  await t.test("artifacts go to the run around the call, or to the one it names", async (t) => {
    const other = await start("resources");
    await client.waitFor(other.id);
    const { id } = await start("publishes", { other: other.id });
    const { result } = await client.waitFor<{ own: string; given: string }>(id);
    t.match(await client.runs.artifacts(id), [{ external_id: result?.own, kind: "markdown", key: "own" }]);
    t.match(await client.runs.artifacts(other.id), [{ external_id: result?.given, kind: "link" }]);
  });
});
