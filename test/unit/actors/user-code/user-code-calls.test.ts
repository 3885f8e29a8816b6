/** The user code actor with a process simulated by the test. */
import t from "tap";
import { UserCode } from "#actors/user-code/user-code";
import type { CallOutcome, RouteCall, UserCall, UserCallRequest } from "#actors/user-code/user-code-calls";
import type { CustomRoute } from "#protocol/routes/custom-route";
import { Outbox } from "#runtime/effect";

interface Made {
  call: UserCall | RouteCall;
  limitMs: number;
  signal: AbortSignal | undefined;
  settle(outcome: CallOutcome): Promise<void>;
}

function setUp() {
  const made: Made[] = [];
  const sent: { to: string; message: unknown }[] = [];
  let changed = false;
  let discoveries = 0;
  let stops = 0;
  const routes: CustomRoute[] = [];
  const actor = new UserCode({
    process: {
      call: (call, limitMs, signal) =>
        new Promise((resolve) => {
          const settle = (outcome: CallOutcome): Promise<void> => {
            resolve(outcome);
            return new Promise((done) => setImmediate(done));
          };
          made.push({ call, limitMs, signal, settle });
        }),
      look: async () => changed,
      stop: () => {
        stops += 1;
      },
    },
    nowUs: () => 5,
    send: (to, message) => sent.push({ to, message }),
    routes: () => routes,
    discover: () => {
      discoveries += 1;
    },
  });
  return {
    ...{ actor, made, sent, routes },
    change: () => {
      changed = true;
    },
    figures: () => ({ discoveries, stops }),
    tell: (message: Parameters<UserCode["receive"]>[0]) => {
      const out = new Outbox();
      actor.receive(message, out);
      return out.effects;
    },
  };
}

function ruleCall(id: number): UserCallRequest {
  const call = { type: "rule", module: "m.ts", name: `r${id}`, event: { id }, run: null } as const;
  return { kind: "UserCall", id, firing_id: id, call };
}

function hookCall(id: number): UserCallRequest {
  const run = { id: 7, external_id: "x", name: "n", parameters: {}, attempt: 0 };
  const state = { type: "Failed", name: "Failed", timestamp: 1, message: null, details: {} } as const;
  return { kind: "UserCall", id, firing_id: null, call: { type: "hook", module: "m.ts", project: "p", flow: "f", run, state } };
}

const ENDED: CallOutcome = { type: "ended", cause: "it ended with code 1" };

t.test("a stored call is made once while it is under way, and its outcome is told", async (t) => {
  const { made, sent, tell } = setUp();
  tell(ruleCall(1));
  tell(ruleCall(1));
  tell(hookCall(2));
  t.match(made, [{ limitMs: 10_000, signal: undefined }, { limitMs: 60_000 }]);
  await made[0]?.settle({ type: "rule", detail: [1] });
  await made[1]?.settle({ type: "hook", items: [{ kind: "logs" }] });
  t.same(sent, [
    { to: "dispatcher", message: { kind: "OutboundDone", id: 1, firing_id: 1, result: { detail: [1] } } },
    { to: "dispatcher", message: { kind: "HookDone", id: 2, run_id: 7, items: [{ kind: "logs" }], error: null } },
  ]);
  tell(ruleCall(1));
  t.equal(made.length, 3, "one whose answer got lost is made again");
});

t.test("what goes wrong is told as an error", async (t) => {
  const { made, sent, tell } = setUp();
  tell(ruleCall(1));
  tell(ruleCall(2));
  tell(hookCall(3));
  await made[0]?.settle({ type: "failed", error: "TypeError: no" });
  await made[1]?.settle({ type: "timed out" });
  await made[2]?.settle({ type: "timed out" });
  t.match(
    sent.map(({ message }) => message),
    [
      { result: { error: "TypeError: no" } },
      { result: { error: "it took longer than 10 s" } },
      { items: [], error: "it took longer than 60 s" },
    ],
  );
});

t.test("calls during which the process ended are made again one by one, three times in all; the others wait", async (t) => {
  const { made, sent, tell } = setUp();
  for (const id of [1, 2, 3]) tell(ruleCall(id));
  await Promise.all(made.slice(0, 3).map(({ settle }) => settle(ENDED)));
  tell(ruleCall(4));
  const names = () => made.slice(3).map(({ call }) => (call as { name: string }).name);
  t.same(names(), ["r1"], "alone");
  await made[3]?.settle(ENDED);
  t.same(names(), ["r1", "r2"]);
  await made[4]?.settle({ type: "rule", detail: null });
  t.same(names(), ["r1", "r2", "r3"]);
  await made[5]?.settle({ type: "rule", detail: null });
  t.same(names(), ["r1", "r2", "r3", "r1"]);
  await made[6]?.settle(ENDED);
  t.same(names(), ["r1", "r2", "r3", "r1", "r4"]);
  t.match(
    sent.map(({ message }) => message),
    [
      { id: 2, result: { detail: null } },
      { id: 3, result: { detail: null } },
      { id: 1, result: { error: "the process of user code ended during the call, 3 times: it ended with code 1" } },
    ],
  );
});

t.test("so many calls are under way at once; the next one starts when one has its answer", async (t) => {
  const { made, tell } = setUp();
  for (let id = 1; id <= 40; id += 1) tell(ruleCall(id));
  t.equal(made.length, 32);
  await made[0]?.settle({ type: "rule", detail: null });
  t.equal(made.length, 33);
});

t.test("a request goes to the handler with its time, and its answer to the gateway", async (t) => {
  const { made, sent, tell } = setUp();
  const route = { id: 1, method: "POST", path: "/hooks/{name}", source: "m.ts", limit_ms: 2_000, public: false } as const;
  const request = { route, method: "POST", url: "http://h/hooks/a", params: { name: "a" }, headers: ["a", "b"], body: null };
  for (const id of [1, 2, 3, 4, 5]) tell({ kind: "RouteRequest", id, ...request });
  t.match(made[0], {
    limitMs: 2_000,
    call: {
      type: "route",
      module: "m.ts",
      declared: { method: "POST", path: "/hooks/{name}" },
      params: { name: "a" },
      headers: ["a", "b"],
    },
  });
  tell({ kind: "RouteAbandoned", id: 5 });
  t.equal(made[4]?.signal?.aborted, true, "its client has left");
  await made[0]?.settle({ type: "route", response: { status: 201, headers: [], body: null } });
  await made[1]?.settle({ type: "failed", error: "Error: no" });
  await made[2]?.settle({ type: "timed out" });
  await made[3]?.settle(ENDED);
  await made[4]?.settle({ type: "timed out" });
  const name = "route POST /hooks/{name}";
  t.same(
    sent.map(({ to, message }) => [to, (message as { outcome: unknown }).outcome]),
    [
      ["gateway", { status: 201, headers: [], body: null }],
      ["gateway", { reason: "failed", error: `${name}: Error: no` }],
      ["gateway", { reason: "timed out", error: `${name} took longer than 2 s` }],
      ["gateway", { reason: "ended", error: `the process of user code ended while it worked on ${name}: it ended with code 1` }],
    ],
    "a request is made once",
  );
});

t.test("what was found is handed on, to a gateway that starts later too", async (t) => {
  const { routes, tell } = setUp();
  const route = { id: 1, method: "GET", path: "/x", source: "m.ts", limit_ms: 1, public: false } as const;
  const problem = { module: "m.ts", kind: "file", error: "no such table" } as const;
  routes.push(route);
  const flows = { kind: "RegisterFlows", flows: [], gone: [], errors: [] } as const;
  const rules = { kind: "RegisterRules", rules: [], broken: [] } as const;
  const reloaded = { kind: "ReloadCode", files: 1 } as const;
  const effects = tell({
    kind: "CodeFound",
    flows: { ...flows, flows: [], gone: [], errors: [] },
    rules: { ...rules, rules: [], broken: [] },
    routes: [route],
    problems: [problem],
    reloaded: { ...reloaded, names: ["m.ts"], flows: [] },
  });
  t.match(effects, [
    { to: "records", message: flows },
    { to: "records", message: rules },
    { to: "records", message: reloaded },
    { to: "records", message: { kind: "CustomRoutes", routes: [route] } },
    { to: "records", message: { kind: "CodeProblems", problems: [problem] } },
    { to: "gateway", message: { kind: "CustomRoutes", routes: [route] } },
  ]);
  t.match(tell({ kind: "GatewayStarted" }), [{ to: "gateway", message: { kind: "CustomRoutes", routes: [route] } }]);
});

t.test("changed files lead to a discovery", async (t) => {
  const { change, figures, tell } = setUp();
  t.match(tell({ kind: "Look" }), [{ kind: "SetTimer", key: "look", dueUs: 500_005 }]);
  await new Promise((done) => setImmediate(done));
  t.equal(figures().discoveries, 0);
  change();
  tell({ kind: "Look" });
  await new Promise((done) => setImmediate(done));
  t.equal(figures().discoveries, 1);
});

t.test("one that starts asks for what is without an answer; one that failed leaves the process alone", async (t) => {
  const { actor, made, sent, tell, figures } = setUp();
  const out = new Outbox();
  actor.begin(out);
  t.match(out.effects, [
    { to: "gateway", message: { kind: "RouteRequestsLost" } },
    { to: "dispatcher", message: { kind: "ReceiverStarted", receiver: "user-code" } },
    { kind: "SetTimer", key: "look" },
  ]);
  tell(ruleCall(1));
  actor.stop(true);
  t.equal(figures().stops, 0);
  await made[0]?.settle({ type: "rule", detail: 1 });
  t.same(sent, [], "an answer to a former life counts for nothing: the call is made again");
  actor.stop(false);
  t.equal(figures().stops, 1);
});
