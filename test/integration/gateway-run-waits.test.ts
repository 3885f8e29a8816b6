import { connect } from "node:net";
import t, { type Test } from "tap";
import type { StateType } from "#protocol/records/state";
import type { Primitive } from "#protocol/wire/feed";
import { Millrace } from "#sdk/client/index";
import { putOperation } from "#storage/write/ops";
import { StubServer } from "../support/gateway-stub.ts";
import { putFlow, putRun, runState } from "../support/storage-rows.ts";

const RUN = { flow: 1, created: 1, scheduled: null, schedule: null, backfill: null, start: 2, end: null } as const;

async function setup(t: Test): Promise<StubServer> {
  const server = await new StubServer({
    decide: ({ kind }) => (kind === "CreateRun" ? { status: 201, body: { id: 1, state: { type: "Running" } } } : null),
  }).start();
  t.teardown(() => server.stop());
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  server.commit({ ops, stream: [5, 1] });
  const runs: Primitive[] = [];
  for (const id of [1, 2, 3]) putRun(runs, { ...RUN, tags: [], id, name: `run-${id}`, type: "Running", stateName: "Running" });
  server.commit({ ops: runs, stream: [0, 1, 0, 2, 0, 3] });
  return server;
}

function move(server: StubServer, id: number, type: StateType): void {
  const ops: Primitive[] = [];
  const run = { ...RUN, tags: [], id, name: `run-${id}`, type, stateName: type };
  putOperation(ops, "update_run", { id, ...runState(run) });
  server.commit({ ops, stream: [0, id] });
}

/** Resolves once the server has handled everything that was sent before. */
const handled = (server: StubServer) => server.send("GET", "/api/health");

t.test("a request with wait_ms is answered with the ended run, which is otherwise as GET answers it", async (t) => {
  const server = await setup(t);
  const waiting = server.send("GET", "/api/runs/1?wait_ms=30000");
  await handled(server);
  move(server, 2, "Completed");
  move(server, 1, "Completed");
  const answer = await waiting;
  const { stream_seq, ...run } = JSON.parse(answer.text);
  t.equal(answer.status, 200);
  t.same(run, JSON.parse((await server.send("GET", "/api/runs/1")).text));
  t.equal(run.state.type, "Completed");
  const again = await server.send("GET", `/api/runs/1?wait_ms=30000&until=changed&since=${stream_seq - 1}`);
  t.equal(JSON.parse(again.text).stream_seq, stream_seq, "a change since then is answered at once");
});

t.test("wrong waits are refused", async (t) => {
  const server = await setup(t);
  const status = async (query: string) => (await server.send("GET", `/api/runs/1?${query}`)).status;
  t.equal(await status("wait_ms=x"), 400);
  t.equal(await status("wait_ms=5&until=done"), 422);
  t.equal((await server.send("GET", "/api/runs/9?wait_ms=30000")).status, 404);
  t.equal((await server.send("GET", "/api/runs/x?wait_ms=30000")).status, 400);
});

t.test("a creation with wait_ms is answered 201 with the ended run", async (t) => {
  const server = await setup(t);
  const body = JSON.stringify({ flow: "f", project: "p" });
  const waiting = server.send("POST", "/api/runs?wait_ms=30000", { body });
  await server.until(() => server.commands.length === 1);
  await handled(server);
  move(server, 1, "Completed");
  const answer = await waiting;
  t.equal(answer.status, 201);
  t.match(JSON.parse(answer.text), { id: 1, state: { type: "Completed" }, stream_seq: Number });
  const atOnce = await server.send("POST", "/api/runs", { body });
  t.notOk("stream_seq" in JSON.parse(atOnce.text), "without wait_ms the answer is as before");
});

t.test("waits outlive a restart of the core and of the gateway's state", async (t) => {
  const server = await setup(t);
  const ended = server.send("GET", "/api/runs/1?wait_ms=30000");
  await handled(server);
  server.gateway.receive({ kind: "Reloaded", epoch: 2 });
  server.gateway.restart(null);
  await handled(server);
  move(server, 1, "Failed");
  t.equal(JSON.parse((await ended).text).state.type, "Failed");
});

t.test("a client that disconnects frees its wait, and a stop of the server answers the others", async (t) => {
  const server = await setup(t);
  const socket = connect(server.port, "127.0.0.1");
  socket.write("GET /api/runs/1?wait_ms=30000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await new Promise((resolve) => socket.once("connect", resolve));
  await handled(server);
  socket.destroy();
  await handled(server);
  const waiting = server.send("GET", "/api/runs/1?wait_ms=30000");
  await handled(server);
  const stopping = server.gateway.stop();
  t.equal(JSON.parse((await waiting).text).state.type, "Running");
  await stopping;
  t.same(server.defects, []);
});

t.test("the client's waitFor needs one request of the server and reports a run deleted during the wait", async (t) => {
  const server = await setup(t);
  const client = new Millrace({ url: `http://127.0.0.1:${server.port}` });
  const waiting = client.waitFor<number>(1);
  await handled(server);
  move(server, 1, "Completed");
  t.equal((await waiting).run.state.type, "Completed");
  await t.rejects(client.waitFor(77), /not found/);
  await t.rejects(client.waitFor(1, { signal: AbortSignal.abort() }));
  await t.rejects(client.waitFor(3, { timeoutMs: 50 }), /has not ended within/);
});
