import t from "tap";
import { ROUTES } from "#protocol/routes/routes";
import { Millrace } from "#sdk/client/index";

/** Routes for engines or for Prometheus only, which the client does not offer. */
const NOT_OF_CLIENT = /^(?:\/api\/engine\/|\/api\/backfills\/\{id\}\/prefilter$|\/metrics$)/;

/** A client whose requests are recorded as "METHOD /path" and answered without useful data. */
function recorded(): { client: Millrace; requests: string[]; keys: Map<string, string | undefined> } {
  const requests: string[] = [];
  const keys = new Map<string, string | undefined>();
  const client = new Millrace({
    peer: async () => ({
      url: "test:",
      token: null,
      async send(path, { method, headers }) {
        const request = `${method} ${path.replace(/\?.*$/, "")}`;
        requests.push(request);
        keys.set(request, headers["idempotency-key"]);
        return { status: 200, header: () => null, text: async () => '{"items":[]}', chunks: async function* () {} };
      },
    }),
  });
  return { client, requests, keys };
}

t.test("the client has a method for every route", async (t) => {
  const { client, requests, keys } = recorded();
  const { runs, taskRuns, flows, events, artifacts, schedules, backfills, rules, variables, leases, logs } = client;
  const place = { flow: "f", project: "p" };
  const stop = new AbortController();
  const calls: Promise<unknown>[] = [
    ...[client.health(), client.ready(), client.server(), client.queue(), client.actors(), client.counts(), client.stats()],
    ...[client.settings(), client.patchSettings({}), client.acceptClock(), client.vocabulary(), client.openapi()],
    client.stream({ signal: stop.signal }).next(),
    ...[flows.list(), flows.get(1), flows.timing(1), flows.delete(1), flows.run(1), flows.pause(1), flows.resume(1)],
    ...[schedules.list(1), schedules.create(1, { kind: "cron", cron: "@daily" }), schedules.upcoming(1)],
    schedules.put(1, "v", { kind: "cron", cron: "@daily" }),
    ...[schedules.fires(), schedules.runs({ after: 1, before: 2 }), backfills.newest(), backfills.values(1)],
    ...[schedules.preview({ kind: "cron", cron: "@daily" }), schedules.patch(1, {}), schedules.delete(1)],
    ...[schedules.pause(1), schedules.resume(1), schedules.skip(1, { next: 1 }), schedules.undoSkip(1, 2)],
    ...[backfills.create(1, { parameter: "d", start: "", end: "" }), backfills.list(1), backfills.get(1), backfills.cancel(1)],
    ...[runs.list().page(), runs.counts(), runs.create(place), runs.get(1), runs.delete(1), runs.cancel(1), runs.resume(1, null)],
    ...[runs.transition(1, { type: "Running" }), runs.graph(1), runs.tasks(1), runs.artifacts(1), runs.logs(1).page()],
    ...[runs.steps(1).page(), runs.step(1, "v"), runs.waits(1).page(), runs.armWaits(1, 2, []), runs.wake(1)],
    runs.answerCallback("v", 1),
    ...[runs.createMany([place]), runs.retry(1), runs.explain(1), runs.timing(1), runs.waited(1), runs.answers(1), runs.counts()],
    ...[taskRuns.list().page(), taskRuns.get(1), taskRuns.artifacts(1), taskRuns.logs(1).page()],
    ...[events.list().page(), events.emit({ name: "x" }), events.get(1)],
    ...[artifacts.list().page(), artifacts.create({ run_id: 1, kind: "link", data: {} })],
    ...[rules.list(), rules.create({ name: "r" }), rules.get(1), rules.patch(1, {}), rules.delete(1)],
    ...[rules.firings(1), rules.expectations(1), rules.test(1)],
    ...[
      variables.list(),
      variables.set({ name: "v", value: 1 }),
      variables.get("v"),
      variables.patch("v", {}),
      variables.delete("v"),
    ],
    logs.search({ q: "x" }).page(),
    ...[leases.acquire(1, { r: 1 }), leases.release(1, 2)],
  ];
  await Promise.all(calls.slice(0, 10));
  stop.abort();
  await Promise.all(calls);
  const sent = new Set(requests.map((request) => request.replace(/\/(?:\d+|v)(?=\/|$)/g, "/{}")));
  const routes = ROUTES.filter(({ path }) => !NOT_OF_CLIENT.test(path));
  const missing = routes.filter(({ method, path }) => !sent.has(`${method} ${path.replace(/\{\w+\}/g, "{}")}`));
  t.same(
    missing.map(({ operation }) => operation),
    [],
  );
  for (const { method, path } of routes.filter((route) => route.idempotency_key)) {
    t.type(keys.get(`${method} ${path.replace("{id}", "1")}`), "string", `${method} ${path} has a key by default`);
  }
});

t.test("names of variables are one part of the path", async (t) => {
  const { client, requests } = recorded();
  await client.variables.get("etl/last day");
  t.same(requests, ["GET /api/variables/etl%2Flast%20day"]);
});
