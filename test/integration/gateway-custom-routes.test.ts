/** Custom routes at the gateway: access, what reaches the user code actor, and how its answers are sent. */
import { connect } from "node:net";
import t from "tap";
import { BODY_BYTES_MAX, HOOK_BODY_BYTES_MAX, HOOK_REQUESTS_MAX, ROUTE_REQUESTS_MAX } from "#protocol/limits";
import type { CustomRoute, RouteAnswer, RouteRequest } from "#protocol/routes/custom-route";
import { type Answered, StubServer } from "../support/gateway-stub.ts";

const ROUTES: CustomRoute[] = [
  { id: 1, method: "POST", path: "/hooks/{name}/{part}", source: "a.ts", limit_ms: 1_000, public: false },
  { id: 2, method: "GET", path: "/hooks/{name}/{part}", source: "a.ts", limit_ms: 1_000, public: false },
  { id: 3, method: "GET", path: "/report", source: "a.ts", limit_ms: 1_000, public: false },
];

async function startServer(options = {}): Promise<StubServer> {
  const server = await new StubServer(options).start();
  server.gateway.receive({ kind: "CustomRoutes", routes: ROUTES });
  return server;
}

function requests(server: StubServer): RouteRequest[] {
  return server.routeMessages.filter((message): message is RouteRequest => message.kind === "RouteRequest");
}

/** Sends a request, and answers it once it has reached the actor. */
async function ask(
  server: StubServer,
  outcome: RouteAnswer["outcome"],
  ...sent: Parameters<StubServer["send"]>
): Promise<Answered> {
  const before = requests(server).length;
  const answered = server.send(...sent);
  await server.until(() => requests(server).length > before);
  const id = requests(server)[before]?.id ?? 0;
  server.gateway.receive({ kind: "RouteAnswer", id, outcome });
  return await answered;
}

const NO_CONTENT = { status: 204, headers: [], body: null };

t.test("a request reaches the handler whole, and the answer the client as it was given", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const body = Buffer.from([0, 255, 10, 0]);
  const bytes = new Uint8Array([1, 0, 2]);
  const answer = await ask(
    server,
    { status: 207, headers: ["content-type", "x/y", "set-cookie", "a=1", "set-cookie", "b=2"], body: bytes },
    ...(["POST", "/hooks/a%20b/c?x=1&x=2", { body, headers: { "content-type": "x/y", "x-own": "1" } }] as const),
  );
  t.match(answer, { status: 207, headers: { "content-type": "x/y", "set-cookie": ["a=1", "b=2"], "content-length": "3" } });
  const [request] = requests(server);
  t.match(request, { method: "POST", params: { name: "a b", part: "c" }, route: { id: 1 } });
  t.equal(request?.url, `http://127.0.0.1:${server.port}/hooks/a%20b/c?x=1&x=2`);
  t.same(request?.body, new Uint8Array(body), "bytes, not text");
  t.match(request?.headers.join(), /x-own,1/);
});

t.test("each method has its route; HEAD is GET's, OPTIONS and the others are answered here", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  t.equal((await ask(server, NO_CONTENT, "GET", "/hooks/a/b")).status, 204);
  t.match(requests(server)[0], { route: { id: 2 }, body: null, url: /\/hooks\/a\/b$/ });
  const head = await ask(server, { status: 200, headers: [], body: new Uint8Array(4) }, "HEAD", "/report");
  t.match(head, { status: 200, headers: { "content-length": "4" }, text: "" });
  t.match(await server.send("DELETE", "/report"), { status: 405, headers: { allow: "GET, HEAD, OPTIONS" } });
  t.match(await server.send("OPTIONS", "/hooks/a/b"), { status: 204, headers: { allow: "POST, GET, HEAD, OPTIONS" } });
  t.equal((await server.send("GET", "/hooks/%zz/b")).status, 404, "no percent-encoding");
  t.equal(requests(server).length, 2);
});

t.test("every way to have no answer has its status", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  for (const [reason, status] of [
    ["failed", 500],
    ["timed out", 504],
    ["ended", 502],
  ] as const) {
    const answer = await ask(server, { reason, error: `because ${reason}` }, "GET", "/report");
    t.match(answer, {
      status,
      headers: { "content-type": "application/json" },
      text: JSON.stringify({ error: `because ${reason}` }),
    });
  }
});

t.test("the API, agents and pages are never taken, and what no route has is not asked for", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const shadows = ["/api/health", "/mcp", "/api/runs/{id}"].map(
    (path, index) => ({ ...ROUTES[2], id: index + 1, path }) as CustomRoute,
  );
  server.gateway.receive({ kind: "CustomRoutes", routes: shadows });
  t.same(JSON.parse((await server.send("GET", "/api/health")).text), { ok: true });
  t.equal((await server.send("GET", "/mcp")).status, 405);
  await server.send("GET", "/api/runs/1");
  await server.send("GET", "/report");
  t.same(server.routeMessages, []);
});

t.test("the token, the host and the origin are asked for as on the API", async (t) => {
  const server = await startServer({ token: "secret" });
  t.teardown(() => server.stop());
  t.equal((await server.send("GET", "/report")).status, 401);
  t.equal((await server.send("GET", "/report", { headers: { authorization: "Bearer wrong" } })).status, 401);
  t.equal((await server.send("GET", "/report", { headers: { host: "evil.example" } })).status, 403);
  t.equal((await server.send("GET", "/report", { headers: { origin: "http://evil.example" } })).status, 403);
  t.same(server.routeMessages, []);
  t.equal((await ask(server, NO_CONTENT, "GET", "/report", { headers: { authorization: "Bearer secret" } })).status, 204);
});

t.test("an incoming hook needs neither token nor host, for its method alone", async (t) => {
  const server = await startServer({ token: "secret" });
  t.teardown(() => server.stop());
  const hook: CustomRoute = { id: 9, method: "POST", path: "/in/{name}", source: "a.ts", limit_ms: 1_000, public: true };
  server.gateway.receive({ kind: "CustomRoutes", routes: [...ROUTES, hook] });
  const headers = { host: "flows.example.com", origin: "https://evil.example" };
  t.equal((await ask(server, NO_CONTENT, "POST", "/in/a", { headers, body: Buffer.from("{}") })).status, 204);
  t.equal((await ask(server, NO_CONTENT, "POST", "/in/a", { body: Buffer.from("{}") })).status, 204, "by this address too");
  t.equal((await server.send("GET", "/in/a", { headers })).status, 403);
  t.equal((await server.send("GET", "/in/a")).status, 401, "other methods need the token");
  t.equal((await server.send("POST", "/hooks/a/b", { headers })).status, 403, "other routes are as before");
  t.equal((await server.send("GET", "/api/runs", { headers })).status, 403);
  t.equal((await server.send("POST", "/in/a", { headers, body: Buffer.alloc(HOOK_BODY_BYTES_MAX + 1) })).status, 413);
  t.equal(requests(server).length, 2);
});

t.test("a flood of deliveries leaves places for other routes", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  server.gateway.receive({
    kind: "CustomRoutes",
    routes: [...ROUTES, { ...ROUTES[0], path: "/in", public: true } as CustomRoute],
  });
  const deliveries = Array.from({ length: HOOK_REQUESTS_MAX }, () => server.send("POST", "/in"));
  await server.until(() => requests(server).length === HOOK_REQUESTS_MAX);
  t.equal((await server.send("POST", "/in")).status, 503);
  const other = server.send("GET", "/report");
  await server.until(() => requests(server).length === HOOK_REQUESTS_MAX + 1);
  for (const { id } of requests(server)) server.gateway.receive({ kind: "RouteAnswer", id, outcome: NO_CONTENT });
  t.same(new Set((await Promise.all([other, ...deliveries])).map(({ status }) => status)), new Set([204]));
  t.equal((await ask(server, NO_CONTENT, "POST", "/in")).status, 204, "the places are free again");
});

t.test("a body that is too long is refused, one of the length that is allowed is not", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const long = await server.send("POST", "/hooks/a/b", { body: Buffer.alloc(BODY_BYTES_MAX + 1) });
  t.equal(long.status, 413);
  t.same(server.routeMessages, []);
  t.equal((await ask(server, NO_CONTENT, "POST", "/hooks/a/b", { body: Buffer.alloc(BODY_BYTES_MAX) })).status, 204);
});

t.test("the actor is informed when a client leaves, and a late answer is dropped", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const socket = connect(server.port, "127.0.0.1");
  socket.write("GET /report HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await server.until(() => server.routeMessages.length === 1);
  socket.destroy();
  await server.until(() => server.routeMessages.length === 2);
  const [request, abandoned] = server.routeMessages;
  t.match(abandoned, { kind: "RouteAbandoned", id: request?.id });
  server.gateway.receive({ kind: "RouteAnswer", id: request?.id ?? 0, outcome: NO_CONTENT });
  t.same(server.defects, []);
});

t.test("a restarted actor ends the requests of its former life", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const answered = server.send("GET", "/report");
  await server.until(() => requests(server).length === 1);
  server.gateway.receive({ kind: "RouteRequestsLost" });
  t.equal((await answered).status, 502);
});

t.test("many requests are under way at once; beyond the limit they are refused, and the API still answers", async (t) => {
  const server = await startServer();
  t.teardown(() => server.stop());
  const answers = Array.from({ length: ROUTE_REQUESTS_MAX }, () => server.send("GET", "/report"));
  await server.until(() => requests(server).length === ROUTE_REQUESTS_MAX);
  t.equal((await server.send("GET", "/report")).status, 503);
  t.equal((await server.send("GET", "/api/health")).status, 200);
  for (const { id } of requests(server)) server.gateway.receive({ kind: "RouteAnswer", id, outcome: NO_CONTENT });
  t.same(new Set((await Promise.all(answers)).map(({ status }) => status)), new Set([204]));
});

t.test("a stop waits for answers that are on their way", async (t) => {
  const server = await startServer();
  const answered = server.send("GET", "/report");
  await server.until(() => requests(server).length === 1);
  const stopped = server.stop();
  server.gateway.receive({ kind: "RouteAnswer", id: requests(server)[0]?.id ?? 0, outcome: NO_CONTENT });
  t.equal((await answered).status, 204);
  await stopped;
});
