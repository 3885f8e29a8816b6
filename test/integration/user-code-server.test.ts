/** A server with rules, routes and hooks in code: how they are shown, and that they cannot harm others. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { CALLS, firings, newPlace, ruleNamed, until } from "../support/called-code.ts";
import { serve } from "../support/command-line.ts";

const CODE = `
  import { emit, flow, log, route, rule } from "millrace";
  import { go, note } from "${CALLS}";
  export const told = rule("told", { when: { events: ["run.cancelled"], flows: ["work"] } }, async (event, run) => {
    note("told " + run.id);
    await emit("code.told", { run: run.name });
    return { event: event.name, parameters: run.parameters };
  });
  export const any = rule("any", { when: { events: ["kit.any"], project: null }, once: "never" }, () => "any");
  export const own = rule("own", { when: { events: ["kit.any"] }, once: "never" }, () => "own");
  export const slow = rule("slow", { when: { events: ["kit.slow"], project: null } }, async (event) => {
    note("slow " + event.id);
    await go();
    return event.payload;
  });
  export const deadly = rule("deadly", { when: { events: ["kit.deadly"], project: null } }, () => process.exit(5));
  export const hang = route("GET", "/code/hang", { timeout: "200ms" }, () => new Promise(() => {}));
  export const fails = route("GET", "/code/fails", () => { throw new RangeError("no"); });
  export const echo = route("POST", "/code/{name}", async (request, { params }) => Response.json({ ...params, body: await request.text() }, { status: 201 }));
  export const work = flow("work", { hooks: { onCancel: ({ run, state }) => log.info("told of", state.name) } }, async () => 1);
`;

t.test("rules, routes and hooks in code", async (t) => {
  const place = newPlace(t, CODE);
  await serve(t, place.dir, place.home);
  const client = new Millrace({ home: place.home });
  const url = await client.address();

  t.test("they are shown", async (t) => {
    t.match((await client.settings()).custom_routes, [
      { id: 1, method: "POST", path: "/code/{name}", source: "code.ts" },
      { id: 2, method: "GET", path: "/code/fails" },
      { id: 3, method: "GET", path: "/code/hang" },
    ]);
    const told = await ruleNamed(client, "told");
    t.match(told, { source: "code", module: "code.ts", enabled: true, do: [{ kind: "call", callable: "told" }] });
    t.equal(told.when?.project, place.dir.split("/").at(-1));
    const [flow] = await client.flows.list();
    t.match(flow, { name: "work", live: true, options: { hooks: ["Cancelled"] } });
  });

  t.test("a function is called with the event and its run, and may use the server itself", async (t) => {
    const { id, project } = (await client.flows.list())[0] ?? { id: 0, project: "" };
    const run = await client.flows.run(id, { name: "one" });
    await client.runs.cancel(run.id);
    const [firing] = await firings(client, "told", 1);
    t.match(firing, {
      run_id: run.id,
      outcomes: [{ kind: "call", status: "completed", detail: { event: "run.cancelled", parameters: {} } }],
    });
    t.match((await client.events.list({ name: "code.told" }).page()).items, [{ payload: { run: "one" } }]);
    const logged = await until(async () => {
      const { items } = await client.runs.logs(run.id).page();
      return items.length > 0 ? items : undefined;
    });
    t.match(logged, [{ message: "told of Cancelled", level: 20 }], "the hook of a run that no engine had");
    await client.events.emit({ name: "kit.any" });
    t.match(await firings(client, "any", 1), [{ outcomes: [{ detail: "any" }] }]);
    t.equal((await client.rules.firings((await ruleNamed(client, "own")).id)).length, 0, "an event of no project is not its");
    await client.events.emit({ name: "kit.any", run_id: run.id });
    t.match(await firings(client, "own", 1), [{ outcomes: [{ detail: "own" }] }]);
    t.ok(project);
  });

  t.test("a test of it calls nothing", async (t) => {
    const before = place.calls();
    const told = await client.rules.test((await ruleNamed(client, "told")).id);
    t.match(told, { actions: [{ kind: "call", rendered: { callable: "told" } }], event: { name: "run.cancelled" } });
    t.same(place.calls(), before);
  });

  t.test("routes that hang or throw harm no other request; many requests are served at once", async (t) => {
    const post = (name: string) => fetch(`${url}/code/${name}`, { method: "POST", body: name });
    const slow = [fetch(`${url}/code/hang`), fetch(`${url}/code/fails`)];
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => post(`n${index}`)));
    t.same(new Set(answers.map(({ status }) => status)), new Set([201]));
    t.same(await answers[7]?.json(), { name: "n7", body: "n7" });
    const [hang, fails] = await Promise.all(slow);
    t.equal(hang?.status, 504);
    t.equal(fails?.status, 500);
    t.match(await fails?.json(), { error: "route GET /code/fails: RangeError: no" });
  });

  t.test("a function that ends its process fails after three tries, and nothing else does", async (t) => {
    await client.events.emit({ name: "kit.deadly" });
    const [firing] = await firings(client, "deadly", 1);
    t.match(firing?.outcomes, [{ status: "failed", error: /ended during the call, 3 times: it ended with code 5/ }]);
    await client.events.emit({ name: "kit.any" });
    await firings(client, "any", 2);
  });

  t.test("its process is killed during a call: the call is made again", async (t) => {
    const { id } = await client.events.emit({ name: "kit.slow", payload: { n: 1 } });
    await until(() => place.calls().includes(`slow ${id}`) || undefined);
    process.kill(place.processes().at(-1) ?? 0, "SIGKILL");
    await until(() => place.calls().filter((line) => line === `slow ${id}`).length === 2 || undefined);
    writeFileSync(join(place.dir, "go"), "");
    t.match(await firings(client, "slow", 1), [{ event_id: id, outcomes: [{ status: "completed", detail: { n: 1 } }] }]);
  });

  t.test("people can disable a rule and nothing else; files that change are served as they are now", async (t) => {
    const any = await ruleNamed(client, "any");
    await client.rules.patch(any.id, { enabled: false });
    await t.rejects(client.rules.patch(any.id, { name: "x" }), /comes from code/);
    await t.rejects(client.rules.delete(any.id), /comes from code/);
    const less = CODE.replace(/.*rule\("own".*/, "")
      .replace('rule("any"', 'rule("any"')
      .replace("/code/hang", "/code/rests");
    writeFileSync(join(place.dir, "code.ts"), less);
    await until(async () => (await client.settings()).custom_routes.some(({ path }) => path === "/code/rests") || undefined);
    t.match(await ruleNamed(client, "any"), { id: any.id, enabled: false, fire_count: any.fire_count });
    await t.rejects(ruleNamed(client, "own"));
    t.equal((await fetch(`${url}/code/rests`)).status, 504);
  });
});
