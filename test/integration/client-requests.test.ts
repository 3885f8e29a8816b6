import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Millrace, MillraceError } from "#sdk/client/index";

/** A server on a free port (or a socket) that closes with the test. */
async function listen(test: Test, handler: RequestListener, socket?: string): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => {
    if (socket === undefined) server.listen(0, "127.0.0.1", resolve);
    else server.listen(socket, resolve);
  });
  test.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return socket ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

async function failure(work: Promise<unknown>): Promise<MillraceError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

t.test("filters become query parameters, the token a header", async (t) => {
  const seen: string[] = [];
  const url = await listen(t, (request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`);
    json(response, 200, { items: [], next_cursor: null });
  });
  const client = new Millrace({ url: `${url}/`, token: "secret" });
  await client.runs.list({ state_type: "Failed", tags: ["a", "b c"], flow: undefined }, { pageSize: 7 }).page(40);
  await client.runs.logs(3, { after: 5, level: "ERROR" }).page();
  t.same(seen, [
    "/api/runs?state_type=Failed&tags=a%2Cb+c&limit=7&cursor=40 Bearer secret",
    "/api/runs/3/logs?after=5&level=ERROR Bearer secret",
  ]);
});

t.test("a refusal carries status, text and body", async (t) => {
  const url = await listen(t, (request, response) => {
    if (request.url === "/api/runs/1") json(response, 404, { error: "run not found" });
    else if (request.url === "/api/runs/2") response.writeHead(422).end("parameters: wrong shape");
    else if (request.url === "/api/runs/3") response.writeHead(500).end();
    else json(response, 409, { error: "transition rejected: terminal", reason: "terminal", current: null });
  });
  const client = new Millrace({ url });
  t.match(await failure(client.runs.get(1)), {
    status: 404,
    message: "run not found",
    method: "GET",
    path: "/api/runs/1",
    reason: "refused",
  });
  t.match(await failure(client.runs.get(2)), { status: 422, message: "parameters: wrong shape" });
  t.match(await failure(client.runs.get(3)), { status: 500, message: "GET /api/runs/3 was answered with 500" });
  t.match(await failure(client.runs.transition(4, { type: "Running" })), {
    status: 409,
    body: { reason: "terminal", current: null },
  });
});

t.test("503 with Retry-After is tried again, without it is an error", async (t) => {
  let calls = 0;
  const url = await listen(t, (request, response) => {
    calls += 1;
    if (request.url === "/api/counts") json(response, 503, { error: "busy" });
    else if (calls === 1) json(response, 503, { error: "restarting" }, { "retry-after": "0" });
    else json(response, 200, { id: 1 });
  });
  const client = new Millrace({ url });
  t.equal((await client.runs.resume(1, null)).id, 1);
  t.equal(calls, 2);
  t.match(await failure(client.counts()), { status: 503, message: "busy" });
  t.equal(calls, 3);
});

t.test("a creation is sent again under its key when its answer was lost, what has none is not", async (t) => {
  const keys: unknown[] = [];
  const bodies: unknown[] = [];
  const url = await listen(t, async (request, response) => {
    keys.push(request.headers["idempotency-key"]);
    bodies.push(await bodyOf(request));
    if (keys.length === 2 || keys.length === 4) json(response, 201, { id: 9 });
    else request.socket.destroy();
  });
  const client = new Millrace({ url });
  t.equal((await client.runs.create({ flow: "f", project: "p" }, { idempotencyKey: "k" })).id, 9);
  t.same(keys, ["k", "k"]);
  t.same(bodies[1], { flow: "f", project: "p" });
  t.equal((await client.runs.create({ flow: "f", project: "p" })).id, 9);
  t.match(keys[2], /^[0-9a-f]{32}$/, "a key of its own");
  t.equal(keys[3], keys[2]);
  t.match(await failure(client.runs.resume(1, "yes")), { reason: "cut", status: 0 });
  t.equal(keys.length, 5);
  t.equal(keys[4], undefined);
});

t.test("an unreachable server is reported at once", async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const error = await failure(new Millrace({ url: `http://127.0.0.1:${port}` }).health());
  t.match(error, { reason: "unreachable", status: 0, message: `no server answers at http://127.0.0.1:${port} (ECONNREFUSED)` });
});

t.test("the discovery file leads to the server, by its socket when no token is held", async (t) => {
  const home = t.testdir({});
  chmodSync(home, 0o700);
  const answer =
    (way: string): RequestListener =>
    (request, response) =>
      json(response, 200, { version: way, url: request.headers.authorization ?? "" });
  const url = await listen(t, answer("tcp"));
  // The system takes some hundred bytes for the path of a socket.
  const folder = mkdtempSync(join(tmpdir(), "millrace-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const socket = await listen(t, answer("socket"), join(folder, "s"));
  const record = {
    auth: true,
    host: "127.0.0.1",
    pid: process.pid,
    port: 1,
    socket,
    started_at: Date.now() * 1000,
    url,
    version: "1",
  };
  writeFileSync(join(home, "server.json"), JSON.stringify(record), { mode: 0o600 });
  t.equal((await new Millrace({ home }).server()).version, "socket");
  t.match(await new Millrace({ home, token: "x" }).server(), { version: "tcp", url: "Bearer x" });
  t.equal((await new Millrace({ socket }).server()).version, "socket");
});

t.test("a discovery file that others could have written, or of a process that is gone, is not followed", async (t) => {
  const home = t.testdir({});
  chmodSync(home, 0o700);
  const path = join(home, "server.json");
  const error = async () => (await failure(new Millrace({ home }).health())).message;
  const record = { pid: process.pid, started_at: Date.now() * 1000, url: "http://127.0.0.1:1" };
  t.equal(await error(), `no server is running for ${home}`);
  writeFileSync(path, JSON.stringify({ ...record, pid: 4_194_305 }), { mode: 0o600 });
  t.match(await error(), /process 4194305 is gone/);
  writeFileSync(path, JSON.stringify({ ...record, started_at: 1_000_000 }));
  t.match(await error(), /is gone/, "the pid was given to another process since");
  writeFileSync(path, JSON.stringify(record));
  chmodSync(path, 0o666);
  t.match(await error(), /written to by others/);
  chmodSync(path, 0o600);
  chmodSync(home, 0o770);
  t.match(await error(), /written to by others/);
  const other = join(home, "other");
  mkdirSync(other, { mode: 0o700 });
  symlinkSync(path, join(other, "server.json"));
  t.match((await failure(new Millrace({ home: other }).health())).message, /is a link/);
  writeFileSync(path, "{");
  t.match(await error(), /is not a discovery file/);
});

t.test("a server that came back at another address is found again", async (t) => {
  const home = t.testdir({});
  chmodSync(home, 0o700);
  const announce = (url: string) =>
    writeFileSync(join(home, "server.json"), JSON.stringify({ pid: process.pid, started_at: Date.now() * 1000, url }), {
      mode: 0o600,
    });
  const first = createServer((_, response) => json(response, 200, { version: "first" }));
  await new Promise<void>((resolve) => first.listen(0, "127.0.0.1", resolve));
  announce(`http://127.0.0.1:${(first.address() as AddressInfo).port}`);
  const client = new Millrace({ home });
  t.equal((await client.server()).version, "first");
  first.closeAllConnections();
  await new Promise((resolve) => first.close(resolve));
  t.match(await failure(client.server()), { reason: /unreachable|cut/ });
  announce(await listen(t, (_, response) => json(response, 200, { version: "second" })));
  t.equal((await client.server()).version, "second");
});
