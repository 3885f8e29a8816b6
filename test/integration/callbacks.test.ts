/** Callbacks over HTTP: settled once, without the token of the server, over a restart of the server. */
import t from "tap";
import { CALLBACK_BYTES_MAX, CALLBACK_MISSES } from "#protocol/limits";
import type { ArmedWaits } from "#protocol/records/durable";
import { armFor, beginItem, FLOW, parkEvent, reportOf, serveHome, takeItem } from "../support/served-engine.ts";
import type { ServedProcess } from "../support/served-home.ts";

const JSON_TYPE = { "content-type": "application/json" };

function send(url: string, body: string, headers: Record<string, string> = JSON_TYPE): Promise<Response> {
  return fetch(url, { method: "POST", headers, body });
}

/** A run that waits for a callback without an engine, and the URL. */
async function waiting(server: ServedProcess, flow = "job") {
  await server.call("POST", "/api/runs", { ...FLOW, flow, options: { durable: true } });
  const item = await beginItem(server);
  const armed = await armFor(server, item, 1, { kind: "callback", timeout: 600 });
  const path = (armed.body as unknown as ArmedWaits).waits[0]?.url ?? "";
  t.match(await reportOf(server, item, [parkEvent(3, 1)]), { run_state: { name: "AwaitingEvent" } });
  return { item, path };
}

t.test("a callback settles once and without the server's token, also after a restart of the server", async (t) => {
  const { home, server } = await serveHome(t, "--token", "server-token");
  server.token = "server-token";
  const { item, path } = await waiting(server);
  t.match(path, /^\/api\/callbacks\/[\w-]{43}$/);
  const listed = await server.call("GET", `/api/runs/${item.run_id}/waits`);
  t.match(listed.body["items"], [{ kind: "callback", url: null, outcome: null }]);
  await server.kill();
  const next = await home.serve("--token", "server-token");
  next.token = "server-token";
  const url = `${next.url}${path}`;
  t.equal((await fetch(`${next.url}/api/runs/${item.run_id}`)).status, 401, "other routes need the token");
  t.equal((await send(url, "{}", { "content-type": "application/x-www-form-urlencoded" })).status, 415);
  t.equal((await send(url, "")).status, 400, "a body is required, as on other routes");
  t.equal((await send(url, "{oops")).status, 400);
  t.equal((await send(url, JSON.stringify("x".repeat(CALLBACK_BYTES_MAX)))).status, 413);
  t.equal(
    (await send(url, "{}", { ...JSON_TYPE, origin: "https://elsewhere.example" })).status,
    403,
    "pages of other sites may not",
  );
  const unknown = await send(`${next.url}/api/callbacks/${"A".repeat(43)}`, "{}");
  t.equal(unknown.status, 404);
  const [first, second] = await Promise.all([send(url, '{"paid":[1,2]}'), send(url, '{"paid":[1,2]}')]);
  t.same([first.status, second.status].sort(), [200, 404], "two requests at one time: one of them counts");
  const used = await send(url, "{}");
  t.equal(used.status, 404);
  t.equal(await used.text(), await unknown.text(), "a used token looks like an unknown one");
  const again = await takeItem(next);
  t.equal(again.run_id, item.run_id);
  const waits = await next.call("GET", `/api/runs/${item.run_id}/waits`);
  t.match(waits.body["items"], [{ outcome: { kind: "answered", value: { paid: [1, 2] } } }]);
  const armed = await armFor(next, again, 1, { kind: "callback" });
  t.match(
    armed.body,
    { waits: [{ url: path, outcome: { kind: "answered" } }] },
    "the flow that goes on has the URL that was used",
  );
});

t.test("so many requests to callbacks that are not open are answered in a second, and keep out no open one", async (t) => {
  const { server } = await serveHome(t);
  const { path } = await waiting(server);
  const guess = () => send(`${server.url}/api/callbacks/guess`, "{}");
  const statuses = new Set<number>();
  while (!statuses.has(429)) for (const { status } of await Promise.all(Array.from({ length: 50 }, guess))) statuses.add(status);
  t.same([...statuses].sort(), [404, 429]);
  const guesses = Array.from({ length: 2 * CALLBACK_MISSES.atOnce }, guess);
  const open = send(`${server.url}${path}`, "1");
  const refused = (await Promise.all(guesses)).filter(({ status }) => status === 429);
  t.ok(refused.length > 0);
  t.equal(refused[0]?.headers.get("retry-after"), "1");
  t.equal((await open).status, 200);
});
