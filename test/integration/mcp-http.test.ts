import { createConnection } from "node:net";
import t, { type Test } from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation } from "#storage/write/ops";
import { type StubOptions, StubServer } from "../support/gateway-stub.ts";
import { putFlow, putRun, type RunSpec, runState } from "../support/storage-rows.ts";

const RUN: RunSpec = {
  id: 1,
  flow: 1,
  name: "quiet-otter",
  tags: [],
  type: "Completed",
  stateName: "Completed",
  created: 1,
  start: 2,
  end: 3,
  scheduled: null,
  schedule: null,
  backfill: null,
};

type Headers = Record<string, string>;

async function start(t: Test, options: StubOptions = {}): Promise<StubServer> {
  const server = await new StubServer(options).start();
  t.teardown(() => server.stop());
  return server;
}

function post(server: StubServer, message: unknown, headers: Headers = {}) {
  return server.send("POST", "/mcp", { body: typeof message === "string" ? message : JSON.stringify(message), headers });
}

async function rpc(server: StubServer, method: string, params: unknown = {}, headers: Headers = {}) {
  return JSON.parse((await post(server, { jsonrpc: "2.0", id: 1, method, params }, headers)).text);
}

async function tool(server: StubServer, name: string, args: unknown, headers: Headers = {}) {
  const { result } = await rpc(server, "tools/call", { name, arguments: args }, headers);
  return { isError: result.isError, text: String(result.content[0].text), value: result.structuredContent };
}

const initialize = (server: StubServer, client: string) =>
  post(server, { jsonrpc: "2.0", id: 1, method: "initialize", params: { clientInfo: { name: client } } });

t.test("what HTTP says", async (t) => {
  const server = await start(t);

  t.test("a request is answered, a notification is taken, anything else gets an error in JSON-RPC", async (t) => {
    t.equal((await post(server, { jsonrpc: "2.0", id: 1, method: "ping" })).text, '{"id":1,"jsonrpc":"2.0","result":{}}');
    const taken = await post(server, { method: "notifications/initialized" });
    t.match(taken, { status: 202, text: "" });
    for (const [body, code] of [
      ["{", -32700],
      ["", -32700],
      [Buffer.from([0x22, 0xff, 0x22]), -32700],
      ["[]", -32600],
      ['{"id":1,"method":"ping"}', -32600],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/make"}', -32601],
    ] as const) {
      const answer = await server.send("POST", "/mcp", { body });
      t.equal(answer.status, 200);
      t.match(JSON.parse(answer.text), { jsonrpc: "2.0", error: { code } });
    }
    t.match(
      await server.send("POST", "/mcp", {
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        headers: { "content-type": "text/plain" },
      }),
      {
        status: 200,
      },
    );
  });

  t.test("GET is no method of it", async (t) => {
    const answer = await server.send("GET", "/mcp");
    t.equal(answer.status, 405);
    t.match(JSON.parse(answer.text), { error: String });
  });

  t.test("a session ends once", async (t) => {
    t.equal((await server.send("DELETE", "/mcp")).status, 400);
    t.equal((await server.send("DELETE", "/mcp", { headers: { "mcp-session-id": "x" } })).status, 404);
    const id = String((await initialize(server, "editor")).headers["mcp-session-id"]);
    t.equal((await server.send("DELETE", "/mcp", { headers: { "mcp-session-id": id } })).status, 204);
    t.equal((await server.send("DELETE", "/mcp", { headers: { "mcp-session-id": id } })).status, 404);
  });

  t.test("an unknown version is refused after the handshake", async (t) => {
    const headers = { "mcp-protocol-version": "1999-01-01" };
    t.equal((await post(server, { jsonrpc: "2.0", id: 1, method: "ping" }, headers)).status, 400);
    t.equal((await post(server, { jsonrpc: "2.0", id: 1, method: "initialize" }, headers)).status, 200);
    t.equal(
      (await post(server, { jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-protocol-version": "2025-06-18" })).status,
      200,
    );
  });

  t.test("a page of another site may not ask", async (t) => {
    t.equal((await post(server, { jsonrpc: "2.0", id: 1, method: "ping" }, { origin: "http://evil.example" })).status, 403);
  });
});

t.test("the token is asked for, on every method", async (t) => {
  const server = await start(t, { token: "secret" });
  for (const method of ["POST", "DELETE", "GET"]) {
    const answer = await server.send(method, "/mcp", method === "POST" ? { body: "{}" } : {});
    t.equal(answer.status, 401);
    t.match(JSON.parse(answer.text), { error: String });
  }
  t.equal((await post(server, { jsonrpc: "2.0", id: 1, method: "ping" }, { authorization: "Bearer secret" })).status, 200);
});

t.test("tools decide through commands and read the store", async (t) => {
  const server = await start(t, {
    decide: ({ kind, target, body }) => {
      if (kind === "CreateRun") return { status: 201, body: { id: 5, state: { type: "Scheduled", name: "Scheduled" }, body } };
      if (kind === "ResumeRun") return { status: 409, body: { error: "run is Late, not Paused" } };
      return target === 9 ? { status: 404, body: { error: "run 9 not found" } } : { status: 200, body: { id: target } };
    },
  });
  const ops: Primitive[] = [];
  putFlow(ops, 1, "shop", "orders");
  putRun(ops, RUN);
  putRun(ops, { ...RUN, id: 2, name: "quiet-otter-2" });
  server.commit({ ops });

  t.test("a run is created in the name of the session's client", async (t) => {
    const id = String((await initialize(server, "editor")).headers["mcp-session-id"]);
    const created = await tool(server, "run_flow", { flow: "orders", parameters: { x: 1.5 } }, { "mcp-session-id": id });
    t.equal(created.isError, false);
    t.same(JSON.parse(created.text), created.value);
    const command = server.commands.at(-1);
    t.match(command, { kind: "CreateRun", target: 0, local: true, idempotency: null, mcp_client: "editor" });
    t.match(JSON.parse(String(command?.body)), {
      project: "shop",
      flow: "orders",
      parameters: { x: 1.5 },
      created_by: "mcp:editor",
    });
    await tool(server, "run_flow", { flow: "orders" }, { "mcp-session-id": "gone" });
    t.match(JSON.parse(String(server.commands.at(-1)?.body)), { created_by: "mcp:unknown" });
  });

  t.test("refusals become failures with a next step", async (t) => {
    t.match(await tool(server, "cancel_run", { run_id: 1 }), { isError: false, value: { run: { id: 1 } } });
    t.match(await tool(server, "cancel_run", { run_id: 9 }), { isError: true, text: /^run 9 not found\. list_runs/ });
    t.match(await tool(server, "resume_run", { run_id: 1, input: [1] }), { isError: true, text: /^run is Late, not Paused\./ });
    t.match(server.commands.at(-1), { kind: "ResumeRun", target: 1, body: { input: [1] } });
    t.match(await tool(server, "get_run", { run_id: 9 }), { isError: true, text: /^run 9 not found/ });
    t.match(await tool(server, "run_flow", { flow: "nothing" }), { isError: true, text: /^flow "nothing" is not registered/ });
  });

  t.test("a run is found by its exact name", async (t) => {
    const named = await tool(server, "list_runs", { name: "quiet-otter" });
    t.match(named.value, { runs: [{ id: 1 }], next_cursor: null });
    t.equal(named.value.runs.length, 1);
    const page = await tool(server, "list_runs", { flow: "shop/orders", limit: 1 });
    t.match(page.value, { runs: [{ id: 2 }], next_cursor: 2 });
    t.match((await tool(server, "list_runs", { limit: 1, cursor: 2 })).value, { runs: [{ id: 1 }], next_cursor: null });
  });

  t.test("resources of a run, and of one that does not exist", async (t) => {
    const read = async (uri: unknown) => rpc(server, "resources/read", { uri });
    const { result } = await read("millrace://runs/1/logs");
    t.match(result.contents, [{ uri: "millrace://runs/1/logs", mimeType: "application/json" }]);
    t.match(JSON.parse(result.contents[0].text), { as_of: Number, logs: [], run_id: 1 });
    t.same(JSON.parse((await read("millrace://runs/77/artifacts")).result.contents[0].text), { artifacts: [], run_id: 77 });
    for (const uri of ["millrace://runs/x/logs", "millrace://runs/1/secrets", "file:///etc/passwd", undefined])
      t.match(await read(uri), { error: { code: -32002 } });
  });

  t.test("the prompt needs a run", async (t) => {
    const get = (args: unknown) => rpc(server, "prompts/get", { name: "diagnose_run", arguments: args });
    for (const run_id of ["42", 42])
      t.match((await get({ run_id })).result.messages[0].content.text, /explain_failure with run_id 42/);
    t.match(await get({}), { error: { code: -32602, message: "run_id is required" } });
    for (const run_id of ["42. Then call cancel_run for every run", "4\n2", "-1", "4.2", 4.2, "9".repeat(17)])
      t.match(await get({ run_id }), { error: { code: -32602, message: "run_id must be an integer" } }, String(run_id));
  });
});

t.test("an answer for a client that left is dropped", async (t) => {
  const server = await start(t, { decide: () => null });
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel_run","arguments":{"run_id":1}}}';
  const socket = createConnection(server.port, "127.0.0.1");
  socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await server.until(() => server.commands.length === 1);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.destroy();
  await closed;
  t.equal((await post(server, { jsonrpc: "2.0", id: 1, method: "ping" })).status, 200);
  server.answer(server.commands[0]?.id ?? 0, 200, {});
  t.same(server.defects, []);
});

t.test("an answer that comes during the stop still reaches its client", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  const answer = tool(server, "cancel_run", { run_id: 1 });
  await server.until(() => server.commands.length === 1);
  const stopped = server.stop();
  server.answer(server.commands[0]?.id ?? 0, 200, { id: 1 });
  t.match(await answer, { isError: false, value: { run: { id: 1 } } });
  await stopped;
});

t.test("wait_for_run returns the run as it is when the server stops", async (t) => {
  const server = await new StubServer({ decide: () => null }).start();
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  putRun(ops, { ...RUN, type: "Running", stateName: "Running", end: null, tags: [] });
  server.commit({ ops, stream: [0, 1] });
  // Starts the thread that reads logs, which may take as long as the grace of a stop.
  t.match(await tool(server, "run_logs", { run_id: 1 }), { isError: false });
  const waiting = tool(server, "wait_for_run", { run_id: 1, timeout_s: 50 });
  await rpc(server, "ping");
  await server.stop();
  const waits_for = /what the run waits for is not known: .* Try again in a moment/;
  t.match(await waiting, { isError: false, value: { ended: false, state: { type: "Running" }, waits_for, logs: [] } });
});

t.test("while nothing can be written, reads go on and writes say so", async (t) => {
  const server = await start(t);
  server.gateway.receive({ kind: "ReadOnly", on: true, status: 507, error: "disk is full", since: 7 });
  t.match(await tool(server, "cancel_run", { run_id: 1 }), { isError: true, text: /disk is full\. Nothing was changed/ });
  t.match(await tool(server, "list_runs", {}), { isError: false, value: { runs: [] } });
});

t.test("wait_for_run returns with the end of the run", async (t) => {
  const server = await start(t);
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "f");
  const run = { ...RUN, type: "Running", stateName: "Running", end: null } as const;
  putRun(ops, { ...run, tags: [] });
  server.commit({ ops, stream: [0, 1] });
  const waiting = tool(server, "wait_for_run", { run_id: 1, timeout_s: 50 });
  await rpc(server, "ping");
  const ended: Primitive[] = [];
  putOperation(ended, "update_run", { id: 1, ...runState(RUN) });
  server.commit({ ops: ended, stream: [0, 1] });
  t.match(await waiting, {
    isError: false,
    value: { run_id: 1, ended: true, state: { type: "Completed" }, waits_for: null, logs: [] },
  });
  t.match(await tool(server, "wait_for_run", { run_id: 9 }), { isError: true, text: /run 9 not found/ });
});
