/** Runs that code starts by flow.start, startMany and runAndWait: from a flow, a durable flow, a route, a rule and a script. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { Run } from "#sdk/client/index";
import { runScript } from "../support/script-process.ts";
import { serveFlows } from "../support/served-flows.ts";

const SCRIPT_IMPORTS = "./flows/flows.ts";

const FLOWS = `
import { emit, flow, route, rule, run, sleep, Type } from "millrace";
export const greeting = flow("greeting", { parameters: Type.Object({ name: Type.String() }) }, ({ name }) => ({ text: "Hello, " + name, by: run.createdBy }));
export const failing = flow("failing", () => { throw new Error("no"); });
export const caller = flow("caller", async () => {
  const started = await greeting.start({ name: "Ada" }, { tags: ["vip"] });
  const many = await greeting.startMany([{ name: "Bob" }, { name: "Cy" }], { idempotencyKey: "many-" + run.id });
  const again = await greeting.startMany([{ name: "Bob" }, { name: "Cy" }], { idempotencyKey: "many-" + run.id });
  const failed = await failing.runAndWait().catch((error) => error.name + " " + error.state);
  const results = await Promise.all([started, ...many].map((each) => each.result()));
  return { results, failed, last: await greeting.runAndWait({ name: "Di" }), same: many.every(({ id }, at) => id === again[at].id) };
});
export const durable = flow("durable", { durable: true }, async () => {
  const started = await greeting.start({ name: "Ada" });
  await sleep(0.2, { hold: false });
  return [started.id, (await started.result()).text, (await greeting.runAndWait({ name: "Bob" })).text];
});
export const intake = route("POST", "/greet/{name}", async (_request, { params }) => {
  const { id } = await greeting.start({ name: params.name });
  return Response.json({ id }, { status: 202 });
});
export const onSign = rule("on-sign", { when: { events: ["kit.sign"], project: null }, once: "never" }, async () => (await greeting.start({ name: "rule" })).id);
`;

t.test("code starts typed runs", { timeout: 110_000 }, async (t) => {
  const { client, dir, home } = await serveFlows(t, { "flows.ts": FLOWS });
  const flowId = async (name: string) => (await client.flows.list()).find((each) => each.name === name)?.id ?? 0;
  const resultOf = async (name: string) => (await client.waitFor((await client.flows.run(await flowId(name))).id)) as Ended;

  await t.test("from a flow: typed results, one batch for one key, and an error for a run that fails", async (t) => {
    const { run, result } = await resultOf("caller");
    t.equal(run.state.type, "Completed", run.state.message ?? "");
    const by = `run:${run.id}`;
    t.match(result, {
      results: ["Ada", "Bob", "Cy"].map((name) => ({ text: `Hello, ${name}`, by })),
      failed: "RunError Failed",
      last: { text: "Hello, Di", by },
      same: true,
    });
    const started = (await client.runs.list({ flow: "greeting" }).first(100)) as Run[];
    t.equal(started.length, 4);
    t.same(started.find(({ parameters }) => parameters?.["name"] === "Ada")?.tags, ["vip"]);
  });

  await t.test("from a durable flow: children, each started once", async (t) => {
    const { run, result } = await resultOf("durable");
    t.match(result, [Number, "Hello, Ada", "Hello, Bob"], run.state.message ?? "");
    const children = (await client.runs.list({ flow: "greeting" }).first(100)) as Run[];
    t.equal(children.filter(({ caller_run_id }) => caller_run_id === run.id).length, 2);
  });

  await t.test("from a route and from a rule in code", async (t) => {
    const answer = await fetch(`${await client.address()}/greet/Eve`, { method: "POST" });
    t.equal(answer.status, 202);
    const { id } = (await answer.json()) as { id: number };
    t.match(await client.waitFor(id), { result: { text: "Hello, Eve", by: "code" } });
    await client.events.emit({ name: "kit.sign" });
    for await (const { event } of client.stream()) {
      if (event !== "hello" && event !== "run.updated") continue;
      const [run] = (await client.runs.list({ flow: "greeting" }).first(100)) as Run[];
      if (run?.parameters?.["name"] === "rule" && run.state.type === "Completed") break;
    }
  });

  await t.test("from a script, and with a client", async (t) => {
    const script = join(dir, "..", "script.ts");
    writeFileSync(
      script,
      `import { Millrace } from "millrace/client";
import { greeting } from ${JSON.stringify(SCRIPT_IMPORTS)};
const client = new Millrace({ home: process.env.MILLRACE_HOME });
const { id, result } = await greeting.start({ name: "Fay" }, { client });
console.log(JSON.stringify([id > 0, await result(), (await greeting.runAndWait({ name: "Gus" })).text]));
`,
    );
    const { code, stdout, stderr } = await runScript(script, home);
    t.equal(code, 0, stderr);
    t.match(
      stdout,
      /\[true,\{"by":"script","text":"Hello, Fay"\},"Hello, Gus"\]|\[true,\{"text":"Hello, Fay","by":"script"\},"Hello, Gus"\]/,
    );
  });
});

interface Ended {
  run: Run;
  result: unknown;
}
