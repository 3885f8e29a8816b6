/** The tour and the guides on a real server: their statements hold. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import type { RuleBody } from "#protocol/records/rule";
import { Millrace, type StreamMessage } from "#sdk/client/index";
import { serveWithEngines } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(EXAMPLES, path), "utf8")) as T;
}

async function serve(t: Test, folder: string): Promise<{ client: Millrace; url: string }> {
  const home = join(testFolder(t), "home");
  const { url } = await serveWithEngines(t, join(EXAMPLES, folder), home, "--max-engines", "2");
  return { client: new Millrace({ home }), url };
}

/** Follows the stream from now on, until the test ends; resolves with the first matching message. */
async function follow(
  t: Test,
  client: Millrace,
): Promise<(wanted: (message: StreamMessage) => boolean) => Promise<StreamMessage>> {
  const end = new AbortController();
  t.teardown(() => end.abort());
  const stream = client.stream({ signal: end.signal });
  await stream.next();
  return async (wanted) => {
    for (let next = await stream.next(); next.done !== true; next = await stream.next())
      if (wanted(next.value)) return next.value;
    throw new Error("the stream ended");
  };
}

async function createRule(t: Test, url: string, rule: RuleBody): Promise<number> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/api/rules`, { method: "POST", headers, body: JSON.stringify(rule) });
  const body = (await answer.json()) as { id: number };
  t.equal(answer.status, 201, JSON.stringify(body));
  return body.id;
}

async function flowId(client: Millrace, wanted: string): Promise<number> {
  return (await client.flows.list()).find(({ name }) => name === wanted)?.id ?? 0;
}

t.test("the tour: a run, a failure, a schedule, a rule", async (t) => {
  const { client, url } = await serve(t, "tour");
  const next = await follow(t, client);
  const greeting = await client.flows.run(await flowId(client, "greeting"), { parameters: { name: "Ada" } });
  t.match(await client.waitFor(greeting.id), { run: { state: { type: "Completed" } }, result: "Hello, Ada" });
  const flows = await client.flows.list();
  t.match(flows.find(({ name }) => name === "greeting")?.schedules, [{ schedule: { kind: "interval", interval: 3600 } }]);

  const rule = await createRule(t, url, readJson("tour/rule.json"));
  const [first] = readJson<[RuleBody]>("guides/rules.json");
  const told = await createRule(t, url, first);
  const failed = await client.flows.run(await flowId(client, "fragile"));
  t.match((await client.waitFor(failed.id)).run.state, { type: "Failed", message: /divide by zero/ });
  const fired = await next(
    ({ event, data }) =>
      event === "event.created" && "name" in data && data.name === "rule.fired" && data.payload["rule_id"] === told,
  );
  t.ok(fired, "the first rule of the guide on rules fires in the tour's folder too");
  const made = await next(
    ({ event, data }) => event === "run.updated" && "created_by" in data && data.created_by === `rule:${rule}`,
  );
  const { id } = made.data as { id: number };
  t.equal((await client.waitFor(id)).result, "Hello, whoever looks after fragile");
});

t.test("the guides: approval, backfill with a flow that follows, rules", async (t) => {
  const { client, url } = await serve(t, "guides");

  await t.test("a person approves", async (t) => {
    const next = await follow(t, client);
    const { id } = await client.flows.run(await flowId(client, "release"));
    await next(({ event, data }) => event === "run.updated" && "state" in data && data.id === id && data.state.type === "Paused");
    t.match((await client.runs.get(id)).state, { message: "Release build 42?" });
    await client.runs.resume(id, { approve: true, note: "looks good" });
    t.equal((await client.waitFor(id)).result, "build 42 is out");
  });

  await t.test("each day is loaded, and summed up once", async (t) => {
    const next = await follow(t, client);
    const days = { parameter: "day", start: "2026-01-01", end: "2026-01-03", concurrency: 2 };
    const { id, total } = await client.backfills.create(await flowId(client, "daily"), days);
    t.equal(total, 3);
    const summed = new Set<string>();
    await next(({ event, data }) => {
      if (event !== "run.updated" || !("flow_name" in data) || data.flow_name !== "summary") return false;
      if (data.state.type === "Completed") summed.add(String(data.parameters["day"]));
      return summed.size === 3;
    });
    const runs = await client.runs.list({ backfill_id: id }).first(10);
    const skipped = runs.filter(({ state }) => state.name === "Skipped").map(({ parameters }) => parameters["day"]);
    t.same(skipped, ["2026-01-02"], "what is done already");
    t.same([...summed].sort(), ["2026-01-01", "2026-01-02", "2026-01-03"]);
  });

  await t.test("every rule is taken as it stands", async (t) => {
    for (const rule of readJson<RuleBody[]>("guides/rules.json")) t.ok((await createRule(t, url, rule)) > 0, rule.name);
  });
});

t.test("the guides' examples can be saved in one folder: no two of them have a flow or job of the same name", async (t) => {
  const docs = fileURLToPath(new URL("../../docs", import.meta.url));
  const owners = new Map<string, string>();
  const guides = readdirSync(join(docs, "guides")).map((name) => join("guides", name));
  for (const page of ["tour.md", ...guides]) {
    const blocks = readFileSync(join(docs, page), "utf8").matchAll(/^```(?:ts|toml)\n(.*?)^```/gms);
    for (const [, code = ""] of blocks)
      for (const [, flow, job] of code.matchAll(/^export const \w+ = flow\(\s*"([^"]+)"|^\[jobs\.([^\]]+)\]/gm)) {
        const name = flow ?? job ?? "";
        t.equal(owners.get(name), undefined, `${name} of ${page}`);
        owners.set(name, page);
      }
  }
  t.ok(owners.size > 20, "the guides have flows");
});

t.test("a secret is read by a flow, and its log does not show it", async (t) => {
  const { client } = await serve(t, "guides");
  const first = await client.flows.run(await flowId(client, "orders"));
  t.match((await client.waitFor(first.id)).run.state, { type: "Failed", message: /npx millrace variables set shop\/api-key/ });
  await client.variables.set({ name: "shop/api-key", value: "key-of-the-shop", secret: true });
  const { id } = await client.flows.run(await flowId(client, "orders"));
  t.equal((await client.waitFor(id)).result, 3);
  const lines = await client.runs.logs(id).first(10);
  t.match(lines.map(({ message }) => message).join("\n"), "asking for the orders since 0 with ***");
  t.equal((await client.variables.get("shop/last-order")).value, 3);
});
