import { Agent } from "node:http";
import t, { type Test } from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { StubServer } from "../support/gateway-stub.ts";
import { putFlow, putRun, putRunEvent } from "../support/storage-rows.ts";
import { StreamClient } from "../support/stream-client.ts";

const RUN = { flow: 1, tags: [], created: 1, scheduled: null, schedule: null, backfill: null, start: 2, end: 9 } as const;

function addRuns(server: StubServer, ids: number[]): void {
  const ops: Primitive[] = [];
  const stream: Primitive[] = [];
  for (const id of ids) {
    putRun(ops, { ...RUN, tags: [], id, name: `run-${id}`, type: "Running", stateName: "Running" });
    putRunEvent(ops, "run.running", id, 1, "Running", 5);
    stream.push(0, id, 4, 0);
  }
  server.commit({ ops, stream });
}

async function setup(t: Test): Promise<StubServer> {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  server.commit({ ops, stream: [5, 1] });
  return server;
}

t.test("messages carry the records that GET answers", async (t) => {
  const server = await setup(t);
  const client = new StreamClient(server.port);
  await client.until(({ messages }) => messages.length === 1);
  t.match(client.head, /content-type: text\/event-stream/);
  addRuns(server, [1]);
  await client.until(({ messages }) => messages.length === 3);
  const [hello, run, event] = client.messages;
  t.equal(hello?.event, "hello");
  t.same(run?.data, JSON.parse((await server.send("GET", "/api/runs/1")).text));
  t.same(event?.data, JSON.parse((await server.send("GET", "/api/events/1")).text));
  t.equal(event?.id, (run?.id ?? 0) + 1);
  client.socket.destroy();
});

t.test("a reconnect replays what was missed, by since or Last-Event-ID, the larger one", async (t) => {
  const server = await setup(t);
  const client = new StreamClient(server.port);
  await client.until(({ messages }) => messages.length === 1);
  const latest = Number(client.messages[0]?.data["latest"]);
  addRuns(server, [1, 2, 3]);
  const ids = (client: StreamClient) => client.messages.slice(1).map(({ id }) => Number(id) - latest);
  const bySince = new StreamClient(server.port, `/api/stream?since=${latest + 2}`);
  await bySince.until(({ messages }) => messages.length === 5);
  t.same(ids(bySince), [3, 4, 5, 6]);
  const byHeader = new StreamClient(server.port, "/api/stream", `Last-Event-ID: ${latest + 4}\r\n`);
  await byHeader.until(({ messages }) => messages.length === 3);
  t.same(ids(byHeader), [5, 6]);
  const larger = new StreamClient(server.port, `/api/stream?since=${latest + 5}`, `Last-Event-ID: ${latest}\r\n`);
  await larger.until(({ messages }) => messages.length === 2);
  t.same(ids(larger), [6]);
  const ahead = new StreamClient(server.port, `/api/stream?since=${latest + 1000}`);
  await ahead.until(({ messages }) => messages.length === 2);
  t.match(ahead.messages[1], { event: "resync", id: latest + 6, data: { latest: latest + 6 } });
  for (const each of [client, bySince, byHeader, larger, ahead]) each.socket.destroy();
});

/**
 * A reader that resumes reading; the library cuts a reader that took nothing for ten seconds, and then it reconnects as
 * clients do.
 */
async function resumed(server: StubServer, reader: StreamClient): Promise<StreamClient> {
  reader.socket.resume();
  await reader.until(({ ended, messages }) => ended || messages.some(({ event }) => event === "resync"));
  return reader.ended ? new StreamClient(server.port, `/api/stream?since=${reader.messages.at(-1)?.id}`) : reader;
}

t.test("readers that stop reading cost bounded memory and are told to resync", async (t) => {
  const server = await setup(t);
  addRuns(server, [1]);
  const slow = Array.from({ length: 20 }, () => new StreamClient(server.port));
  const fast = new StreamClient(server.port);
  await fast.until(({ messages }) => messages.length === 1);
  for (const client of slow) {
    await client.until(({ messages }) => messages.length === 1);
    client.socket.pause();
  }
  const before = process.memoryUsage().rss;
  let published = 0;
  const total = 30_000;
  while (published < total) {
    const stream: Primitive[] = [];
    const ops: Primitive[] = [];
    for (let index = 0; index < 1000; index += 1) {
      putRunEvent(ops, "run.running", 1, 1, "Running", 5);
      stream.push(4, 0);
    }
    published += 1000;
    server.commit({ ops, stream });
    await fast.until(({ messages }) => messages.length === 1 + published);
  }
  t.ok(process.memoryUsage().rss - before < 400 * 1024 * 1024, "no copy of the stream is kept per reader");
  t.same(
    fast.messages.slice(2).filter(({ id }, index) => id !== (fast.messages[index + 1]?.id ?? 0) + 1),
    [],
    "a fast reader loses nothing",
  );
  const one = await resumed(server, slow[0] ?? fast);
  await one.until(({ messages }) => messages.some(({ event }) => event === "resync"));
  addRuns(server, [2]);
  await one.until(({ messages }) => messages.at(-1)?.data["run_id"] === 2);
  for (const client of [...slow, one, fast]) client.socket.destroy();
});

t.test("a stop ends streams, lets the core send polls away, also one that comes late, and the port is free again", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  const client = new StreamClient(server.port);
  await client.until(({ messages }) => messages.length === 1);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const body = JSON.stringify({ engine_id: "e", pid: 1, source_dir: "/d", module: "m", wait_ms: 30_000 });
  // The connection is opened before the stop, which accepts no further ones.
  t.equal((await server.send("GET", "/api/health", { agent })).status, 200);
  const poll = server.send("POST", "/api/engine/work", { body });
  await server.until(() => server.commands.length === 1);
  const stopped = server.gateway.stop();
  const late = server.send("POST", "/api/engine/work", { body, agent });
  await server.until(() => server.commands.length === 2);
  for (const { id } of server.commands) server.answer(id, 200, { run: null, exit: true });
  for (const answer of [poll, late]) t.same(JSON.parse((await answer).text), { run: null, exit: true });
  t.same(server.notices, []);
  await stopped;
  await client.until(({ ended }) => ended);
  const next = await new StubServer({ port: server.port }).start();
  t.equal(next.port, server.port);
  await next.stop();
  await server.stop();
  agent.destroy();
});

t.test("a filtered stream carries what belongs to its run, flow, project or tags, read from the store", async (t) => {
  const server = await setup(t);
  const ops: Primitive[] = [];
  putFlow(ops, 2, "q", "g");
  for (const [id, flow] of [
    [1, 1],
    [2, 2],
  ] as const) {
    putRun(ops, { ...RUN, flow, tags: [`tag${id}`], id, name: `run-${id}`, type: "Running", stateName: "Running" });
    putRunEvent(ops, "run.running", id, flow, "Running", 5);
  }
  const kindsOf = ({ messages }: StreamClient) => messages.slice(1).map(({ event, data }) => `${event} ${data["id"]}`);
  const queries = [
    "run_id=2",
    "flow_id=1",
    "project=q&kinds=run.updated",
    "tags=tag1",
    "names=run.failed&kinds=event.created",
    "kinds=flow.registered",
  ];
  const clients = queries.map((query) => new StreamClient(server.port, `/api/stream?${query}`));
  await Promise.all(clients.map((client) => client.until(({ messages }) => messages.length === 1)));
  server.commit({ ops, stream: [5, 2, 0, 1, 4, 0, 0, 2, 4, 0] });
  const expected = [
    ["run.updated 2", "event.created 2"],
    ["run.updated 1", "event.created 1"],
    ["run.updated 2"],
    ["run.updated 1", "event.created 1"],
    [],
    ["flow.registered 2"],
  ];
  for (const [index, client] of clients.entries())
    await client.until(({ messages }) => messages.length > (expected[index]?.length ?? 0));
  t.same(clients.map(kindsOf), expected);
  for (const client of clients) client.socket.destroy();
  const wrong = await server.send("GET", "/api/stream?kinds=runs");
  t.equal(wrong.status, 422);
  t.match(wrong.text, /unknown kind/);
});

t.test("a snapshot gives a reader the run that changed before the ring begins", async (t) => {
  const server = await setup(t);
  addRuns(server, [1]);
  const client = new StreamClient(server.port, "/api/stream?run_id=1&kinds=run.updated&snapshot=1&since=0");
  await client.until(({ messages }) => messages.some(({ event }) => event === "run.updated"));
  t.match(
    client.messages.map(({ event, id }) => [event, id]),
    [
      ["hello", null],
      ["resync", Number],
      ["run.updated", null],
    ],
  );
  t.same(client.messages[2]?.data, JSON.parse((await server.send("GET", "/api/runs/1")).text));
  client.socket.destroy();
});
