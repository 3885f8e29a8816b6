import { join } from "node:path";
import t from "tap";
import { Millrace, type StreamMessage } from "#sdk/client/index";
import { serve } from "../support/command-line.ts";
import { socketPath } from "../support/socket-path.ts";

const MODULE = { flow: "sum", project: "maths", module: "sum.ts", source_dir: "/nowhere" };

t.test("the client against a server", async (t) => {
  const root = t.testdir({ served: {} });
  const served = join(root, "served");
  const home = join(root, "home");
  const socket = socketPath(t);
  const server = await serve(t, served, home, "--token", "secret", "--socket", socket);
  const client = new Millrace({ home });

  await t.test("the socket needs no token, the address does", async (t) => {
    t.equal(await client.address(), `unix:${socket}`);
    t.equal((await client.server()).url, server.url);
    const stranger = new Millrace({ url: server.url });
    t.equal(await stranger.health(), true);
    await t.rejects(stranger.server(), { name: "MillraceError", status: 401 });
    await t.rejects(new Millrace({ url: server.url, token: "wrong" }).stream().next(), { name: "MillraceError", status: 401 });
    t.equal((await new Millrace({ home, token: "secret" }).server()).home, home);
  });

  await t.test("a run from its creation to its result", async (t) => {
    const stream = client.stream();
    t.teardown(() => stream.return(undefined));
    t.match(await stream.next(), { value: { event: "hello" } });
    const run = await client.runs.create({ ...MODULE, tags: ["a"], options: { retries: 1 } });
    const ended = client.waitFor<{ sum: number }>(run.id);
    await client.runs.transition(run.id, { type: "Running" });
    await client.runs.transition(run.id, { type: "Completed", details: { result: { sum: 3 } } });
    t.match(await ended, { run: { id: run.id, state: { type: "Completed" }, tags: ["a"] }, result: { sum: 3 } });
    t.match(await client.runs.timing(run.id), { run_id: run.id, from: run.created_at, moments: { matched: null } });
    t.match(await client.runs.waited(run.id), [{ stage: "queued", object: null, holders: [] }]);
    t.same(await client.runs.waited(run.id, { at: run.created_at - 1 }), []);
    t.match(await client.flows.timing(run.flow_id), { flow_id: run.flow_id, runs: 0, stages: [] });
    await t.rejects(client.runs.timing(99), { name: "MillraceError", status: 404 });
    const seen: StreamMessage[] = [];
    for await (const message of stream) {
      seen.push(message);
      if (message.event === "run.updated" && "state" in message.data && message.data.state.type === "Completed") break;
    }
    const numbers = seen.map((message) => message.seq ?? 0);
    t.same(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    const names = (await client.events.list({ run_id: run.id, ascending: true }).first(10)).map((event) => event.name);
    t.same(names, ["run.scheduled", "run.running", "run.completed"]);
  });

  await t.test("lists are read over their pages", async (t) => {
    for (let count = 0; count < 5; count += 1) await client.runs.create(MODULE);
    const ids: number[] = [];
    for await (const run of client.runs.list({ flow: "sum" }, { pageSize: 2 })) ids.push(run.id);
    t.equal(ids.length, 6);
    t.same(
      ids,
      ids.toSorted((a, b) => b - a),
    );
    t.equal((await client.counts()).runs["Scheduled"], 5);
    t.equal((await client.runs.list({ state_type: "Completed" }).first(10)).length, 1);
  });

  await t.test("artifacts, cancelling and deleting", async (t) => {
    const { id } = await client.runs.create(MODULE);
    const made = await client.artifacts.create({ run_id: id, kind: "markdown", data: { text: "x" }, key: "k" });
    t.match(await client.runs.artifacts(id), [{ id: made.id, key: "k" }]);
    t.match(await client.artifacts.list({ key: "k" }).first(2), [{ id: made.id, flow_name: "sum" }]);
    t.same(await client.runs.tasks(id), []);
    t.match(await client.runs.graph(id), { run_id: id, nodes: [], edges: [] });
    t.equal((await client.runs.cancel(id)).state.type, "Cancelled");
    await t.rejects(client.runs.transition(id, { type: "Running" }), {
      name: "MillraceError",
      status: 409,
      body: { reason: "terminal" },
    });
    await client.runs.delete(id);
    await t.rejects(client.runs.get(id), { name: "MillraceError", status: 404 });
  });
});
