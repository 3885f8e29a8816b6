/** A gateway that fails rebuilds its state on the same connections: its clients notice only a pause. */
import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:net";
import t from "tap";
import type { Committed } from "#protocol/wire/feed";
import { StubServer } from "../support/gateway-stub.ts";
import { StreamClient } from "../support/stream-client.ts";

const POLL = JSON.stringify({ engine_id: "e", pid: 1, source_dir: "/d", module: "m", wait_ms: 30_000 });

t.test("requests under way are answered by the one that follows, and not sent twice", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const poll = server.send("POST", "/api/engine/work", { body: POLL });
  await server.until(() => server.commands.length === 1);
  const cancel = server.send("POST", "/api/runs/1/cancel", { agent });
  await server.until(() => server.commands.length === 2);
  server.gateway.restart(null);
  const [first, second] = server.commands;
  server.answer(second?.id ?? 0, 200, { id: 1 });
  t.equal((await cancel).status, 200);
  server.gateway.restart(null);
  server.answer(first?.id ?? 0, 200, { run: null, exit: false });
  t.equal((await poll).status, 200);
  t.equal(server.commands.length, 2);
  const next = server.send("POST", "/api/runs/1/cancel", { agent });
  await server.until(() => server.commands.length === 3);
  t.ok((server.commands[2]?.id ?? 0) > (second?.id ?? 0), "numbers go on");
  t.equal(server.commands[2]?.epoch, 1, "the core is known");
  server.answer(server.commands[2]?.id ?? 0, 200, { id: 1 });
  t.equal((await next).status, 200);
});

t.test("a body that was half there is read to its end", async (t) => {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  const body = '{"name":"kit.done","payload":{}}';
  const head = `POST /api/events HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const socket = connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  const answered = once(socket, "data");
  await new Promise((resolve) => socket.write(head + body.slice(0, 10), resolve));
  await server.send("GET", "/api/health");
  server.gateway.restart(null);
  socket.write(body.slice(10));
  t.match(String(await answered), /^HTTP\/1.1 200/);
  t.equal(server.commands.length, 1);
});

t.test("a long-poll keeps its time", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const poll = server.send("POST", "/api/engine/work", { body: POLL.replace("30000", "300") });
  await server.until(() => server.commands.length === 1);
  server.gateway.restart(null);
  await server.until(() => server.notices.length === 1);
  t.match(server.notices, [{ kind: "Expired", command: server.commands[0]?.id }]);
  server.answer(server.commands[0]?.id ?? 0, 200, { run: null, exit: false });
  t.equal((await poll).status, 200);
});

t.test("a reader of the stream keeps its connection and is told to fetch everything", async (t) => {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  const client = new StreamClient(server.port);
  await client.until(({ messages }) => messages.length === 1);
  server.publish([["run.deleted", 1]]);
  await client.until(({ messages }) => messages.length === 2);
  const latest = client.messages[1]?.id;
  server.gateway.restart(null);
  await client.until(({ messages }) => messages.length === 3);
  t.match(client.messages[2], { event: "resync", id: latest });
  server.publish([["run.deleted", 2]]);
  await client.until(({ messages }) => messages.length === 4);
  t.match(client.messages[3], { id: Number(latest) + 1, data: { id: 2, deleted: true } });
  client.socket.destroy();
});

t.test("a commit at which it fails is still answered, and the stream reports a gap", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const client = new StreamClient(server.port);
  await client.until(({ messages }) => messages.length === 1);
  const requests = [1, 2].map((id) => server.send("POST", `/api/runs/${id}/cancel`));
  await server.until(() => server.commands.length === 2);
  const replies = server.commands.flatMap(({ id }) => [id, 200, "{}"]);
  const commit: Committed = { kind: "Committed", replies, stream: [999, 1], runs: [], first_seq: 7, first_event_id: 0, logs: [] };
  t.throws(() => server.gateway.receive(commit), /stream kind 999 is not known/);
  server.gateway.restart(commit);
  for (const request of requests) t.equal((await request).status, 200);
  await client.until(({ messages }) => messages.some(({ event }) => event === "resync"));
  client.socket.destroy();
});
