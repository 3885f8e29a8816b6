/** Rules and routes as declared in code, and as called in tests. */
import { basename } from "node:path";
import t from "tap";
import { checkCustomRoute, routeShape } from "#protocol/routes/custom-route";
import { readWhole, responseOf } from "#sdk/define/routes/route-response";
import { ruleOf } from "#sdk/define/rules/rule";
import { expectBy, expectWithin, route, rule } from "#sdk/index";
import { loadModule } from "#sdk/modules/load-module";
import { callRoute, fireRule } from "#sdk/testing/index";

const noop = () => undefined;

t.test("a rule says what is wrong with it where it is declared", async (t) => {
  t.throws(() => rule("", {}, noop), /a rule needs a name/);
  t.throws(() => rule("x", {}, undefined as never), /rule "x" needs a function/);
  t.throws(() => rule("x", { when: { events: ["run.faild"] } }, noop), /rule "x": when: .*did you mean "run\.failed"/);
  t.throws(() => rule("x", { when: { states: ["failed"] } }, noop), /did you mean "Failed"/);
  t.throws(() => rule("x", { unless: { events: ["a.b"] } }, noop), /unless needs within or at/);
  t.throws(() => rule("x", { cooldown: "soon" }, noop), RangeError);
});

t.test("actions of a rule may be data", async (t) => {
  const declared = rule("all", { when: { events: ["run.failed"], project: null } }, [
    { kind: "run_flow", flow: "shop/mend", parameters: { run: "{{ run.name }}" } },
    { kind: "cancel_run" },
    { kind: "set_state", stateType: "Failed", message: "no" },
    { kind: "pause_schedule", scheduleId: 4 },
    { kind: "resume_schedule", flow: "f" },
    { kind: "webhook", url: "http://127.0.0.1/", headers: { a: "b" }, body: { text: "{{ event.name }}" } },
    { kind: "email", to: ["a@example.org"], subject: "s" },
  ]);
  t.equal(declared.name, "all");
  t.match(ruleOf(declared), { fn: null, project: null, spec: { when: { events: ["run.failed"], project: null } } });
  t.same(ruleOf(declared)?.spec.do, [
    { kind: "run_flow", flow: "shop/mend", parameters: { run: "{{ run.name }}" } },
    { kind: "cancel_run" },
    { kind: "set_state", state_type: "Failed", message: "no" },
    { kind: "pause_schedule", schedule_id: 4 },
    { kind: "resume_schedule", flow: "f" },
    { kind: "webhook", url: "http://127.0.0.1/", headers: { a: "b" }, body: { text: "{{ event.name }}" } },
    { kind: "email", to: ["a@example.org"], subject: "s" },
  ]);
  t.throws(() => rule("x", {}, []), /rule "x": a rule needs at least one action/);
  t.throws(() => rule("x", {}, [{ kind: "set_state", stateType: "failed" }]), /action 0: .*did you mean "Failed"/);
  t.throws(() => rule("x", {}, [{ kind: "email", to: [] }]), /action 0: email needs recipients/);
  await t.rejects(fireRule(declared as never, { name: "run.failed" }), /no function to call/);
  for (const value of [null, undefined, 1, {}, [], "rule"]) t.equal(ruleOf(value), undefined);
});

t.test("what is expected, in time or by a clock", async (t) => {
  const ended = { events: ["run.completed"] };
  const started = { events: ["run.running"], flows: ["f"] };
  const within = ruleOf(rule("a", { ...expectWithin("1h", ended, { after: started }), once: "never" }, [{ kind: "cancel_run" }]));
  t.same(within?.spec, { when: started, unless: ended, within: 3600, once: "never", do: [{ kind: "cancel_run" }] });
  const by = ruleOf(rule("b", expectBy("0 8 * * *", ended, { timezone: "Asia/Kolkata", within: "3h" }), noop));
  t.match(by?.spec, { unless: ended, within: 10_800, at: { cron: "0 8 * * *", tz: "Asia/Kolkata" }, do: [{ kind: "call" }] });
  t.same(expectBy("0 8 * * *", ended), { unless: ended, at: { cron: "0 8 * * *" } });
  t.throws(() => rule("c", expectWithin(0, ended, { after: started }), noop), /within must be positive/);
  t.throws(() => rule("c", expectWithin("1h", {}, { after: started }), noop), /unless needs at least one expected event/);
});

t.test("a route says what is wrong with it where it is declared", async (t) => {
  const wrong: [string, string][] = [
    ["OPTIONS", "/x"],
    ["GET", "x"],
    ["GET", "/"],
    ["GET", "/api/x"],
    ["GET", "/API/x"],
    ["POST", "/mcp"],
    ["GET", "/runs/mine"],
    ["GET", "/assets/x"],
    ["GET", "/favicon.ico"],
    ["GET", "/{any}"],
    ["GET", "/a//b"],
    ["GET", "/a/../b"],
    ["GET", "/a/b c"],
    ["GET", "/a/%2e"],
    ["GET", "/a/{1x}"],
    ["GET", "/a/{x}/{x}"],
    ["GET", `/${"a".repeat(600)}`],
  ];
  for (const [method, path] of wrong) {
    t.ok(checkCustomRoute(method, path), `${method} ${path.slice(0, 20)}`);
    t.throws(() => route(method as "GET", path, noop), TypeError);
  }
  for (const path of ["/hooks", "/hooks/{name}", "/a/b.json", "/a/{b}/c/{d_1}", "/apiary"])
    t.equal(checkCustomRoute("PUT", path), null, path);
  t.equal(routeShape("GET", "/a/{b}"), routeShape("GET", "/a/{c}"));
  t.throws(() => route("GET", "/x", { timeout: 0 }, noop), RangeError);
  t.throws(() => route("GET", "/x", { timeout: "1h" }, noop), RangeError);
  t.throws(() => route("GET", "/x", {} as never), /needs a handler/);
});

t.test("a module gives its rules and routes with what the server needs of them", async (t) => {
  const dir = t.testdir({
    "code.ts": `
      import { cron, flow, route, rule } from "millrace";
      export const all = rule("all", {}, () => 1);
      export const again = all;
      export const late = rule("late", { when: { events: ["a.b"], flows: ["f"], project: null }, unless: { events: ["run.completed"], project: "p" },
        within: "10m", once: "never", cooldown: "1m", maxPerMinute: 0, allowSelf: true, project: "other" }, () => 1);
      export const clock = rule("clock", { unless: { events: ["a.b"] }, at: { cron: "0 6 * * *", timezone: "Europe/Berlin" }, project: "other" }, () => 1);
      export const hook = route("POST", "/hooks/{name}", { timeout: "5s" }, () => 1);
      export const list = route("GET", "/hooks", () => 1);
      export default flow("f", {}, async () => 1);
    `,
    "twice.ts": `
      import { route } from "millrace";
      export const a = route("GET", "/x/{a}", () => 1);
      export const b = route("GET", "/x/{b}", () => 1);
    `,
  });
  const { flows, rules, routes, error } = await loadModule(dir, "code.ts");
  t.equal(error, null);
  t.equal(flows.length, 1);
  const specs = new Map(rules.map(({ registration }) => [registration.name, registration.spec]));
  t.same([...specs.keys()].sort(), ["all", "clock", "late"]);
  const call = (callable: string) => [{ kind: "call", callable }];
  t.same(specs.get("all"), { do: call("all"), when: { project: basename(dir) } });
  t.same(specs.get("late"), {
    ...{
      when: { events: ["a.b"], flows: ["f"], project: null },
      unless: { events: ["run.completed"], project: "p" },
      within: 600,
    },
    ...{ do: call("late"), once: "never", cooldown_seconds: 60, max_per_minute: 0, allow_self: true },
  });
  t.same(specs.get("clock"), {
    ...{ when: { project: "other" }, unless: { events: ["a.b"], project: "other" }, do: call("clock") },
    at: { cron: "0 6 * * *", tz: "Europe/Berlin" },
  });
  t.same(
    routes.map(({ registration }) => registration),
    [
      { method: "POST", path: "/hooks/{name}", module: "code.ts", limit_ms: 5_000, public: false },
      { method: "GET", path: "/hooks", module: "code.ts", limit_ms: 30_000, public: false },
    ],
  );
  t.match(await loadModule(dir, "twice.ts"), { error: /two routes are called "GET \/x\/\{\}"/ });
});

t.test("what a handler returns becomes an answer", async (t) => {
  t.equal(responseOf(undefined).status, 204);
  t.equal(await responseOf(null).text(), "null");
  t.match(responseOf({ a: 1 }).headers.get("content-type"), "application/json");
  const made = new Response("x");
  t.equal(responseOf(made), made);
  for (const nonsense of [() => 1, Symbol("x")]) t.throws(() => responseOf(nonsense), /a value that is JSON, not a/);
  t.throws(() => responseOf(1n), TypeError);
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  t.throws(() => responseOf(loop), TypeError);

  const headers = new Headers({ "X-A": "1", connection: "close", "content-length": "9" });
  headers.append("set-cookie", "a=1");
  headers.append("set-cookie", "b=2");
  const whole = await readWhole(new Response("body", { status: 201, headers }), 10);
  t.equal(whole.status, 201);
  t.same(Buffer.from(whole.body ?? []).toString(), "body");
  t.same(whole.headers, ["content-type", "text/plain;charset=UTF-8", "set-cookie", "a=1", "set-cookie", "b=2", "x-a", "1"]);
  t.match(await readWhole(new Response(null, { status: 304 }), 10), { status: 304, body: null });
  await t.rejects(readWhole(new Response("x".repeat(11)), 10), /at most 10 bytes/);
  await t.rejects(readWhole(Response.error(), 10), /a status from 200 to 599/);
});

t.test("a rule is called in a test with an event and a run", async (t) => {
  const told = rule("told", { when: { events: ["run.failed"] } }, (event, run) => ({
    event: event.name,
    run: run?.flow_name ?? null,
    about: event.resource.kind,
    gone: undefined,
  }));
  t.same(await fireRule(told, { name: "run.failed" }, { flow_name: "daily" }), {
    event: "run.failed",
    run: "daily",
    about: "run",
  });
  t.same(await fireRule(told, { name: "a.b" }), { event: "a.b", run: null, about: "custom" });
  t.equal(
    await fireRule(
      rule("n", {}, () => undefined),
      { name: "a.b" },
    ),
    null,
  );
  await t.rejects(
    fireRule(
      rule("f", {}, () => noop),
      { name: "a.b" },
    ),
    /a value that is JSON/,
  );
  await t.rejects(fireRule(noop, { name: "a.b" }), /what rule\(\) returned/);
});

t.test("a route is called in a test with a path and a body", async (t) => {
  const hook = route("POST", "/hooks/{name}", async (request, { params }) =>
    Response.json({ ...params, body: await request.text(), dry: new URL(request.url).searchParams.get("dry") }, { status: 202 }),
  );
  const answer = await callRoute(hook, "/hooks/a%20b?dry=1", { body: "x" });
  t.equal(answer.status, 202);
  t.same(await answer.json(), { name: "a b", body: "x", dry: "1" });
  await t.rejects(callRoute(hook, "/hooks"), /is not served by route POST/);
  await t.rejects(callRoute(hook, "/other/x"), /is not served by route POST/);
  await t.rejects(callRoute(noop, "/x"), /what route\(\) returned/);
});
