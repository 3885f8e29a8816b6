/**
 * Rules over a kill of the server: every event leads to one firing, unanswered messages are sent again, expectations survive.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";

const EVENTS = 60;

async function call<T>(server: ServedProcess, method: string, path: string, body?: unknown): Promise<T> {
  return (await server.call(method, path, body)).body as T;
}

type Firing = { event_id: number; outcomes: { status: string; detail: { attempts: number } }[] };

t.test("a killed server misses no event, fires for none twice, and repeats what had no answer", async (t) => {
  const keys: string[] = [];
  let answers = false;
  const receiver = createServer((request, response) => {
    keys.push(String(request.headers["idempotency-key"]));
    if (answers) response.end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const home = new ServedHome();
  t.teardown(async () => {
    receiver.closeAllConnections();
    receiver.close();
    await home.remove();
  });
  let server = await home.serve();
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const noop = [{ kind: "cancel_run" }];
  await call(server, "POST", "/api/rules", {
    ...{ name: "all", once: "never", max_per_minute: 0, do: noop, when: { events: ["kit.many"] } },
  });
  await call(server, "POST", "/api/rules", { name: "hook", when: { events: ["kit.hook"] }, do: [{ kind: "webhook", url }] });
  const flow = { flow: "f", project: "p", module: "m.ts", source_dir: "/nowhere" };
  const run = await call<{ id: number }>(server, "POST", "/api/runs", flow);
  const watch = { when: { events: ["kit.start"] }, unless: { events: ["kit.done"] }, within: 1.5, do: noop };
  await call(server, "POST", "/api/rules", { name: "watch", ...watch });
  await call(server, "POST", "/api/events", { name: "kit.start", run_id: run.id });
  await call(server, "POST", "/api/events", { name: "kit.hook", run_id: run.id });
  await until(async () => (keys.length > 0 ? true : null));

  const sent: number[] = [];
  for (let index = 0; index < EVENTS; index += 1)
    sent.push((await call<{ id: number }>(server, "POST", "/api/events", { name: "kit.many" })).id);
  await server.kill();
  answers = true;
  server = await home.serve();
  await call(server, "POST", "/api/events", { name: "kit.hook", run_id: run.id });

  const hooked = await until(async () => {
    const firings = await call<Firing[]>(server, "GET", "/api/rules/2/firings");
    return firings.length > 0 ? firings : null;
  });
  t.match(hooked, [{ outcomes: [{ status: "completed" }] }]);
  t.equal(new Set(keys).size, 1, "one key for all tries, before and after the kill");
  await until(async () => {
    const open = await call<unknown[]>(server, "GET", "/api/rules/3/expectations?open=false");
    return JSON.stringify(open).includes('"lapsed"') ? true : null;
  });
  t.equal(
    (
      await until(async () => {
        const firings = await call<Firing[]>(server, "GET", "/api/rules/3/firings");
        return firings.length > 0 ? firings : null;
      })
    ).length,
    1,
    "the expectation lapsed once",
  );
  const fired = (await call<Firing[]>(server, "GET", "/api/rules/1/firings")).map(({ event_id }) => event_id);
  t.same(
    fired.sort((a, b) => a - b),
    sent,
    "each event once",
  );
  t.equal((await call<Firing[]>(server, "GET", "/api/rules/2/firings")).length, 1, "once per run, also after the restart");
});
