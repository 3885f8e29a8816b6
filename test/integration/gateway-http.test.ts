import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { ListenError } from "#gateway/transport/transport-port";
import { ROUTES } from "#protocol/routes/routes";
import { StubServer } from "../support/gateway-stub.ts";

function errorOf(text: string): unknown {
  return (JSON.parse(text) as { error?: unknown }).error;
}

t.test("requests and answers", async (t) => {
  const server = await new StubServer({
    decide: ({ kind, body }) => {
      if (kind === "DeleteRun") return { status: 204, body: null };
      return { status: kind === "CreateRun" ? 201 : 200, body: { kind, body } };
    },
  }).start();
  t.teardown(() => server.stop());

  t.test("health needs nothing", async (t) => {
    const health = await server.send("GET", "/api/health");
    t.equal(health.status, 200);
    t.same(JSON.parse(health.text), { ok: true });
    t.match(health.headers["content-type"], "application/json");
  });

  t.test("a command carries path id and body, and its answer comes back", async (t) => {
    const created = await server.send("POST", "/api/runs", { body: '{"project":"p","flow":"f"}' });
    t.equal(created.status, 201);
    t.same(JSON.parse(created.text), { kind: "CreateRun", body: '{"project":"p","flow":"f"}' });
    const cancelled = await server.send("POST", "/api/runs/42/cancel");
    t.equal(cancelled.status, 200);
    t.match(server.commands.at(-1), { kind: "CancelRun", target: 42, body: null, local: true, epoch: 1 });
    await server.send("POST", "/api/runs/%34%33/cancel");
    t.match(server.commands.at(-1), { kind: "CancelRun", target: 43 }, "percent-encoded");
    t.equal((await server.send("POST", "/api/runs/%3/cancel")).status, 404);
    const resumed = await server.send("POST", "/api/runs/42/resume", { body: '{"input":[1,"ä"]}' });
    t.same(JSON.parse(resumed.text), { kind: "ResumeRun", body: { input: [1, "ä"] } }, "parsed where the table says so");
  });

  t.test("204 has no body", async (t) => {
    const deleted = await server.send("DELETE", "/api/runs/1");
    t.equal(deleted.status, 204);
    t.equal(deleted.text, "");
  });

  t.test("HEAD answers as GET without the body", async (t) => {
    const get = await server.send("GET", "/api/vocabulary");
    const head = await server.send("HEAD", "/api/vocabulary");
    t.equal(head.status, 200);
    t.equal(head.text, "");
    t.equal(head.headers["content-length"], String(Buffer.byteLength(get.text)));
    const two = await server.raw(
      "HEAD /api/health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
      '{"ok":true}',
    );
    t.equal(two.match(/HTTP\/1\.1 200 OK/g)?.length, 2, "the connection stays usable");
  });

  t.test("a request with two Host headers is refused, whatever they say and wherever it goes", async (t) => {
    const before = server.commands.length;
    for (const second of ["localhost", "elsewhere.example", ""]) {
      for (const line of ["GET /api/health", "POST /api/runs/1/cancel", "GET /"]) {
        const answer = await server.raw(`${line} HTTP/1.1\r\nHost: localhost\r\naccept: */*\r\nhOST: ${second}\r\n\r\n`);
        t.match(answer, /^HTTP\/1\.1 400 /, `${line} with "${second}"`);
        t.match(errorOf(answer.slice(answer.indexOf("\r\n\r\n") + 4)), /Host/);
      }
    }
    t.equal(server.commands.length, before, "none of it reached an actor");
  });

  t.test("every error is JSON with an error", async (t) => {
    const cases: [string, string, string | undefined, string | undefined, number][] = [
      ["GET", "/api/nothing", undefined, undefined, 404],
      ["GET", "/api/runs/1/nothing", undefined, undefined, 404],
      ["PUT", "/api/runs", "{}", undefined, 405],
      ["DELETE", "/api/runs", undefined, undefined, 405],
      ["GET", "/api/engine/work", undefined, undefined, 405],
      ["POST", "/api/runs", "{}", "text/plain", 415],
      ["POST", "/api/runs", undefined, undefined, 415],
      ["POST", "/api/runs/1/cancel", "x=1", "application/x-www-form-urlencoded", 415],
      ["POST", "/api/runs", "", "application/json", 400],
      ["POST", "/api/engine/work", "{bad", undefined, 400],
      ["POST", "/api/engine/work", '{"engine_id":"e"}', undefined, 422],
      ["POST", "/api/engine/work", "[".repeat(100_000), undefined, 400],
      ["POST", "/api/runs/abc/cancel", undefined, undefined, 400],
      ["POST", "/api/runs/9223372036854775808/cancel", undefined, undefined, 400],
      ["POST", "/api/runs/9007199254740993/cancel", undefined, undefined, 404],
      ["GET", "/api/stream?since=abc", undefined, undefined, 400],
      ["GET", "/api/stream?since=-1", undefined, undefined, 400],
      ["GET", "/api/stream?since=1&since=2", undefined, undefined, 400],
    ];
    const before = server.commands.length;
    for (const [method, path, body, type, status] of cases) {
      const headers = type === undefined ? {} : { "content-type": type };
      const answer = await server.send(method, path, { ...(body === undefined ? {} : { body }), headers });
      t.equal(answer.status, status, `${method} ${path} ${type ?? ""}`);
      t.match(answer.headers["content-type"], "application/json");
      t.type(errorOf(answer.text), "string");
      if (status === 405) t.match(answer.headers.allow, /OPTIONS/);
    }
    t.equal(server.commands.length, before, "none of it reached an actor");
  });

  t.test("bytes that are not UTF-8 are refused", async (t) => {
    const answer = await server.send("POST", "/api/runs", { body: Buffer.from([0x22, 0xff, 0xfe, 0x22]) });
    t.equal(answer.status, 400);
  });

  t.test("a charset on the content type is fine", async (t) => {
    const headers = { "content-type": "Application/JSON; charset=utf-8" };
    t.equal((await server.send("POST", "/api/runs", { body: "{}", headers })).status, 201);
  });

  t.test("an integer beyond 2^53 reaches the actor unchanged", async (t) => {
    await server.send("POST", "/api/runs/1/resume", { body: '{"input":9007199254740993}' });
    t.same(server.commands.at(-1)?.body, { input: 9_007_199_254_740_993n });
  });

  t.test("a body in many pieces arrives whole, and one beyond the limit is refused", async (t) => {
    const text = JSON.stringify({ text: "ä".repeat(2_000_000) });
    const created = await server.send("POST", "/api/runs", { body: text });
    t.equal(created.status, 201);
    t.equal(server.commands.at(-1)?.body, text);
    const large = Buffer.alloc(9 * 1024 * 1024, 0x20);
    const refused = await server.send("POST", "/api/runs", { body: large });
    t.equal(refused.status, 413);
    t.type(errorOf(refused.text), "string");
    large.write('{"engine_id":"e","run_id":1,"events":[]}');
    t.equal((await server.send("POST", "/api/engine/report", { body: large })).status, 200, "reports may be larger");
    t.match(server.commands.at(-1)?.body, { engine_id: "e", run_id: 1, lease: null, count: 0, slices: [] });
  });

  t.test("chunked bodies are counted too", async (t) => {
    const piece = "x".repeat(1024 * 1024);
    const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`;
    const head =
      "POST /api/runs HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    const small = await server.raw(`${head}2\r\n{}\r\n0\r\n\r\n`, "CreateRun");
    t.match(small, /^HTTP\/1\.1 201/);
    const answer = await server.raw(head + chunk.repeat(9));
    t.match(answer, /^(HTTP\/1\.1 413|$)/, "refused, or cut before the client read it");
  });

  t.test("OPTIONS says what is possible", async (t) => {
    const options = await server.send("OPTIONS", "/api/runs");
    t.equal(options.status, 204);
    t.match(options.headers.allow, /GET, HEAD, POST/);
    t.equal(options.headers["access-control-allow-origin"], undefined);
  });

  t.test("paths outside the API show a page", async (t) => {
    for (const path of ["/", "/runs", "/runs/12"]) {
      const page = await server.send("GET", path);
      t.equal(page.status, 200);
      t.match(page.headers["content-type"], "text/html");
      t.match(page.text, /\/api/);
      t.notMatch(page.text, /\/home\/someone/);
    }
    t.equal((await server.send("POST", "/", { body: "{}" })).status, 405);
  });

  t.test("the description covers every described route", async (t) => {
    const { paths } = JSON.parse((await server.send("GET", "/api/openapi.json")).text) as { paths: Record<string, object> };
    for (const route of ROUTES) t.equal(Object.hasOwn(paths, route.path), route.described, route.path);
  });

  t.same(server.defects, []);
});

t.test("names under which the server is addressed", async (t) => {
  const server = await new StubServer({ allowed_hosts: ["build.example"] }).start();
  t.teardown(() => server.stop());
  const status = async (headers: Record<string, string>) => (await server.send("GET", "/api/health", { headers })).status;
  for (const host of [
    "localhost",
    "LOCALHOST:99",
    "127.0.0.1:1",
    "127.9.9.9",
    "[::1]:4270",
    "app.localhost",
    "build.example:80",
  ]) {
    t.equal(await status({ host }), 200, host);
  }
  for (const host of [
    "evil.example",
    "localhost.evil.example",
    "192.168.0.1",
    "[::2]",
    "127.0.0.1.evil.example",
    "build.example.org",
    "[::1].evil.example",
    "[::1]evil.example:80",
    "localhost:80.evil.example",
    "localhost:80@evil.example",
    "evil.example/.localhost",
    "[::1",
    "::1",
  ]) {
    t.equal(await status({ host }), 403, host);
  }
  t.equal(await status({ host: "localhost:4270", origin: "http://localhost:4270" }), 200);
  for (const origin of ["http://evil.example", "null", "http://localhost:4271", "localhost:4270"]) {
    t.equal(await status({ host: "localhost:4270", origin }), 403, `origin ${origin}`);
  }
  const page = await server.send("GET", "/", { headers: { host: "evil.example" } });
  t.equal(page.status, 403);
  t.type(errorOf(page.text), "string");
});

t.test("the token", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-gateway-"));
  t.teardown(() => rmSync(home, { recursive: true }));
  const socketPath = join(home, "s.sock");
  const server = await new StubServer({ token: "secret", socket: socketPath }).start();
  t.teardown(() => server.stop());
  server.gateway.receive({ kind: "Serving", reason: null });
  for (const route of ROUTES) {
    const path = route.path.replace(/\{\w+\}/g, "1");
    // No callback is open under this token.
    const allowed = route.operation === "answerCallback" ? 404 : 200;
    for (const authorization of [undefined, "Bearer wrong", "Bearer", "Basic c2VjcmV0", "Bearer secre", "secret"]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const answer = await server.send(route.method, path, { headers });
      t.equal(answer.status, route.auth ? 401 : allowed, `${route.method} ${path} ${authorization}`);
      if (route.auth) t.type(errorOf(answer.text), "string");
    }
  }
  t.equal((await server.send("OPTIONS", "/api/runs")).status, 401);
  t.equal((await server.send("GET", "/api/nothing")).status, 404);
  t.equal((await server.send("GET", "/")).status, 200);
  for (const authorization of ["Bearer secret", "bearer secret", "BEARER   secret  "]) {
    t.equal((await server.send("GET", "/api/server", { headers: { authorization } })).status, 200, authorization);
  }
  t.equal((await server.send("GET", "/api/server", { socketPath })).status, 200, "the socket needs no token");
  t.equal((await server.send("GET", "/api/server", { socketPath, headers: { host: "anything" } })).status, 200);
  t.ok(server.commands.at(-1)?.local);
  t.equal(statSync(socketPath).mode & 0o777, 0o600);
  await server.gateway.stop();
  t.notOk(statSync(socketPath, { throwIfNoEntry: false }), "the socket goes with the server");
});

t.test("a taken address is refused with a clear message", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-gateway-"));
  t.teardown(() => rmSync(home, { recursive: true }));
  const socket = join(home, "s.sock");
  const server = await new StubServer({ socket }).start();
  t.teardown(() => server.stop());
  const portTaken = await new StubServer({ port: server.port }).start().catch((cause: unknown) => cause);
  t.ok(portTaken instanceof ListenError);
  t.match(portTaken, { code: "EADDRINUSE", message: /another program listens there/ });
  const socketTaken = await new StubServer({ socket }).start().catch((cause: unknown) => cause);
  t.match(socketTaken, { code: "EADDRINUSE" });
  const file = join(home, "precious");
  writeFileSync(file, "text");
  t.match(await new StubServer({ socket: file }).start().catch((cause: unknown) => cause), { code: "EEXIST" });
  t.equal(statSync(file).size, 4);
});

t.test("a socket left behind by a killed server is replaced", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-gateway-"));
  t.teardown(() => rmSync(home, { recursive: true }));
  const socket = join(home, "s.sock");
  const former = createServer();
  await new Promise<void>((resolve) => former.listen(socket, resolve));
  // Closing unlinks the path; a socket is left over when its listener dies without closing, which a hard link simulates here.
  const { linkSync } = await import("node:fs");
  linkSync(socket, `${socket}.left`);
  await new Promise((resolve) => former.close(resolve));
  const server = await new StubServer({ socket: `${socket}.left` }).start();
  t.equal((await server.send("GET", "/api/health", { socketPath: `${socket}.left` })).status, 200);
  await server.stop();
});
