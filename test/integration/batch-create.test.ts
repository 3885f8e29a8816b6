/** Batches of runs over HTTP: large bodies, limits, keys, and a server that is killed while it creates them. */
import t, { type Test } from "tap";
import { PARSE_ON_CORE_BYTES_MAX, RUN_BATCH_BYTES_MAX, RUN_BATCH_RUNS_MAX } from "#protocol/limits";
import { Millrace } from "#sdk/client/index";
import { ServedHome, type ServedProcess } from "../support/served-home.ts";

const SCHEMA = { type: "object", properties: { n: { type: "integer" }, text: { type: "string" } } };
const FLOW = { project: "many", flow: "job", module: "many.py", source_dir: "/many", parameter_schema: SCHEMA };

const numbered = (count: number, text = "x".repeat(30)) => Array.from({ length: count }, (_, n) => ({ parameters: { n, text } }));

async function post(url: string, text: string, key = ""): Promise<{ status: number; text: string }> {
  const headers = { "content-type": "application/json", ...(key === "" ? {} : { "idempotency-key": key }) };
  const response = await fetch(`${url}/api/runs/batch`, { method: "POST", body: text, headers });
  return { status: response.status, text: await response.text() };
}

function homeOf(t: Test): ServedHome {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  return home;
}

async function runsOn(server: ServedProcess): Promise<number> {
  const { body } = await server.call("GET", "/api/runs/counts");
  return Number(body["total"]);
}

t.test("10,000 runs are created in order, and a repeated request creates no more", { timeout: 120_000 }, async (t) => {
  const server = await homeOf(t).serve();
  const text = JSON.stringify({ defaults: FLOW, runs: numbered(RUN_BATCH_RUNS_MAX) });
  t.ok(text.length > PARSE_ON_CORE_BYTES_MAX, "a reader thread finds the runs");
  const first = await post(server.url, text, "k");
  t.equal(first.status, 201, first.text.slice(0, 300));
  const { created, runs } = JSON.parse(first.text) as { created: number; runs: { id: number; name: string }[] };
  t.equal(created, RUN_BATCH_RUNS_MAX);
  const firstId = runs[0]?.id ?? 0;
  t.ok(runs.every(({ id }, index) => id === firstId + index));
  for (const index of [0, 1, 5_000, RUN_BATCH_RUNS_MAX - 1]) {
    const { body } = await server.call("GET", `/api/runs/${firstId + index}`);
    t.match(body, { ...runs[index], parameters: { n: index }, flow_name: "job", created_by: "client" });
  }
  const again = await post(server.url, text, "k");
  t.ok(again.status === 201 && again.text === first.text, "the same answer");
  t.match(await post(server.url, `${text} `, "k"), { status: 409 }, "another body under the key");
  t.equal(await runsOn(server), RUN_BATCH_RUNS_MAX);
  const { body } = await server.call("GET", `/api/events?run_id=${firstId + 7}`);
  t.match(body["items"], [{ name: "run.scheduled", run_id: firstId + 7 }]);
});

t.test("a batch that is too large, too long or partly wrong creates nothing", { timeout: 120_000 }, async (t) => {
  const server = await homeOf(t).serve();
  const large = await post(server.url, JSON.stringify({ defaults: FLOW, runs: numbered(30, "x".repeat(1_000_000)) }));
  t.same(large, { status: 413, text: `{"error":"body exceeds ${RUN_BATCH_BYTES_MAX} bytes"}` });
  const long = await post(server.url, JSON.stringify({ defaults: FLOW, runs: numbered(RUN_BATCH_RUNS_MAX + 1) }));
  t.same(long, { status: 422, text: '{"error":"runs: expected at most 10000 items, got 10001"}' });
  const runs: unknown[] = numbered(RUN_BATCH_RUNS_MAX);
  runs[9_998] = { parameters: { n: "x" } };
  const wrong = await post(server.url, JSON.stringify({ defaults: FLOW, runs }));
  t.same(
    { status: wrong.status, body: JSON.parse(wrong.text) },
    { status: 422, body: { error: 'runs[9998]: parameter "n": expected integer', index: 9_998 } },
  );
  t.equal(await runsOn(server), 0);
  t.same((await server.call("GET", "/api/flows")).list, [], "no flow is registered");
  const partial = await post(server.url, JSON.stringify({ partial: true, defaults: FLOW, runs }));
  t.match(JSON.parse(partial.text), { created: RUN_BATCH_RUNS_MAX - 1 });
  t.equal(await runsOn(server), RUN_BATCH_RUNS_MAX - 1);
});

t.test("other requests are answered while a batch of 8 MiB is created", { timeout: 120_000 }, async (t) => {
  const server = await homeOf(t).serve();
  const text = JSON.stringify({ defaults: FLOW, runs: numbered(RUN_BATCH_RUNS_MAX, "x".repeat(760)) });
  t.ok(text.length > 0.9 * RUN_BATCH_BYTES_MAX && text.length <= RUN_BATCH_BYTES_MAX, `${text.length} bytes`);
  let settled = false;
  const sent = post(server.url, text).finally(() => {
    settled = true;
  });
  let answered = 0;
  while (!settled) {
    t.equal((await server.call("POST", "/api/runs", { ...FLOW, flow: "other", parameters: {} })).status, 201);
    answered += 1;
  }
  t.equal((await sent).status, 201);
  // A batch that held others up would let through the one before it and the one that waited for it.
  t.ok(answered >= 10, `${answered} others`);
});

t.test(
  "a server killed during a batch has all of its runs or none, and the repeated batch completes it",
  { timeout: 240_000 },
  async (t) => {
    const home = homeOf(t);
    let server = await home.serve();
    const text = JSON.stringify({ defaults: FLOW, runs: numbered(RUN_BATCH_RUNS_MAX) });
    let expected = 0;
    for (const [round, answers] of [0, 1, 2, 4, 8].entries()) {
      const key = `round ${round}`;
      const sent = post(server.url, text, key).catch(() => null);
      // The server has answered so many requests since: it is at work on the batch, or done with it.
      for (let each = 0; each < answers; each += 1) await server.call("GET", "/api/server");
      await server.kill();
      const answer = await sent;
      server = await home.serve();
      const found = (await runsOn(server)) - expected;
      t.ok(found === 0 || found === RUN_BATCH_RUNS_MAX, `${found} runs`);
      if (answer?.status === 201) t.equal(found, RUN_BATCH_RUNS_MAX, "what was answered exists");
      const again = await post(server.url, text, key);
      t.equal(again.status, 201);
      if (answer?.status === 201) t.equal(again.text, answer.text);
      expected += RUN_BATCH_RUNS_MAX;
      t.equal(await runsOn(server), expected);
    }
  },
);

t.test("the client creates many runs, and names the run that is refused", async (t) => {
  const server = await homeOf(t).serve();
  const client = new Millrace({ url: server.url, token: null });
  const made = await client.runs.createMany([{ parameters: { n: 1 } }, { name: "two" }], { defaults: FLOW });
  t.match(made, [
    { id: 1, state: { type: "Scheduled" } },
    { id: 2, name: "two" },
  ]);
  const bad = [{ flow_id: 1 }, { flow_id: 7 }];
  await t.rejects(client.runs.createMany(bad), { status: 404, message: "runs[1]: flow 7 not found", body: { index: 1 } });
  const [kept, refused] = await client.runs.createMany(bad, { partial: true });
  t.match([kept, refused], [{ id: 3 }, { status: 404, error: "flow 7 not found" }]);
  const options = { idempotencyKey: "mine", defaults: FLOW };
  t.same(await client.runs.createMany([{}], options), await client.runs.createMany([{}], options));
});
