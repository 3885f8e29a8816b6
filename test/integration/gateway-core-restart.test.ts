import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation } from "#storage/write/ops";
import { StubServer } from "../support/gateway-stub.ts";
import { eventRow } from "../support/storage-rows.ts";

const WORK = JSON.stringify({ engine_id: "e", pid: 1, source_dir: "/d", module: "m", wait_ms: 30_000 });

t.test("commands sent before the core runs are answered once it does", async (t) => {
  const server = await new StubServer({ core: false }).start();
  t.teardown(() => server.stop());
  const answers = [server.send("POST", "/api/runs/1/cancel"), server.send("POST", "/api/runs", { body: "{}" })];
  // The gateway answers this itself, so both requests above have been read before the answer.
  await server.send("GET", "/api/health");
  t.equal(server.commands.length, 0);
  server.gateway.receive({ kind: "Reloaded", epoch: 7 });
  for (const answer of answers) t.equal((await answer).status, 200);
  t.ok(server.commands.every(({ epoch }) => epoch === 7));
});

t.test("a command that a crashed core swallowed is sent to the next one, and one it had answered is not", async (t) => {
  const server: StubServer = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const lost = server.send("POST", "/api/runs/1/transition", { body: '{"type":"Running"}' });
  await server.until(() => server.commands.length === 1);
  const kept = server.send("POST", "/api/runs/2/cancel");
  await server.until(() => server.commands.length === 2);
  server.answer(server.commands[1]?.id ?? 0, 200, { id: 2 });
  t.equal((await kept).status, 200);
  server.gateway.receive({ kind: "Reloaded", epoch: 2 });
  await server.until(() => server.commands.length === 3);
  t.match(server.commands[2], { id: server.commands[0]?.id, epoch: 2, kind: "TransitionRun" });
  server.answer(server.commands[2]?.id ?? 0, 200, { id: 1 });
  t.equal((await lost).status, 200);
});

t.test("a poll whose client goes away is abandoned, and what was meant for it comes back", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const head = `POST /api/engine/work HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${WORK.length}\r\n\r\n`;
  const { connect } = await import("node:net");
  const socket = connect(server.port, "127.0.0.1");
  socket.write(head + WORK);
  await server.until(() => server.commands.length === 1);
  socket.destroy();
  await server.until(() => server.notices.length === 1);
  const id = server.commands[0]?.id ?? 0;
  t.same(server.notices, [{ kind: "Abandoned", epoch: 1, command: id }]);
  server.answer(id, 200, { run: { run_id: 1 }, exit: false });
  await server.until(() => server.notices.length === 2);
  t.same(server.notices[1], { kind: "Undelivered", epoch: 1, command: id });
});

t.test("an event is answered with its record, whose number only the commit knows", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const answer = server.send("POST", "/api/events", { body: '{"name":"kit.done"}' });
  await server.until(() => server.commands.length === 1);
  const ops: Primitive[] = [];
  const event = { resource: '{"kind":"custom","id":"x"}', related: "[]", payload: '{"a":1}' };
  putOperation(ops, "insert_event", eventRow("kit.done", 5, event));
  server.commit({ ops, stream: [4, server.commands[0]?.id ?? 0] });
  const { status, text } = await answer;
  t.equal(status, 201);
  t.match(JSON.parse(text), { id: 1, seq: 1, name: "kit.done", payload: { a: 1 } });
});

t.test("a read-only store refuses writes and still answers reads", async (t) => {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  server.gateway.receive({ kind: "ReadOnly", on: true, status: 507, error: "the disk is full", since: 7 });
  const create = await server.send("POST", "/api/runs", { body: "{}" });
  t.equal(create.status, 507);
  t.match(create.text, /disk is full/);
  t.equal((await server.send("GET", "/api/health")).status, 200);
  t.equal((await server.send("GET", "/api/runs")).status, 200);
  t.equal((await server.send("GET", "/api/server")).status, 200);
  server.gateway.receive({ kind: "ReadOnly", on: false, status: 507, error: "", since: 7 });
  t.equal((await server.send("POST", "/api/runs", { body: "{}" })).status, 200);
});

t.test("a thousand parked polls are answered when their time is over", async (t) => {
  const server: StubServer = await new StubServer({ decide: () => null }).start();
  t.teardown(() => server.stop());
  const body = JSON.stringify({ ...JSON.parse(WORK), wait_ms: 300 });
  const polls = Array.from({ length: 1000 }, () => server.send("POST", "/api/engine/work", { body }));
  await server.until(() => server.notices.length === 1000);
  t.ok(server.notices.every(({ kind }) => kind === "Expired"));
  for (const { command } of server.notices) server.answer(command, 200, { run: null, exit: false });
  t.ok((await Promise.all(polls)).every(({ status }) => status === 200));
});
