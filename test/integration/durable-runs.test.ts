/** A durable run over HTTP, with an engine written by hand: steps and sleeps survive the server, and children wake callers. */
import t from "tap";
import type { ArmedWaits } from "#protocol/records/durable";
import { identityOf } from "../support/durable-steps.ts";
import {
  armFor,
  beginItem,
  FLOW,
  moveEvent,
  parkEvent,
  reportOf,
  serveHome,
  stepEvent,
  takeItem,
} from "../support/served-engine.ts";
import { ServedHome, until } from "../support/served-home.ts";

t.test("a run sleeps over a kill of the server, and goes on with its steps", async (t) => {
  const { home, server } = await serveHome(t);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true } });
  const item = await beginItem(server);
  const large = `"${"x".repeat(2_000)}"`;
  t.match(await reportOf(server, item, [stepEvent(3, 1, "[1]"), stepEvent(4, 2, large), stepEvent(5, 1, "[2]")]), {
    last_seq: 5,
  });
  const armed = await armFor(server, item, 7, { kind: "sleep", delay: 2 });
  t.match(armed, { status: 200, body: { waits: [{ kind: "sleep", outcome: null }] } });
  t.match(await reportOf(server, item, [parkEvent(6, 7)]), { run_state: { name: "Sleeping" } });
  await server.kill();
  const next = await home.serve();
  t.match((await next.call("GET", `/api/runs/${item.run_id}`)).body, { lineage_id: item.run_id });
  const again = await takeItem(next);
  t.match(again, { run_id: item.run_id, durable: { lineage_id: item.run_id, steps: 1, waits: 1 } });
  const steps = await next.call("GET", `/api/runs/${item.run_id}/steps`);
  t.match(steps.body["items"], [
    { identity: identityOf(1), value: "[1]", bytes: 3 },
    { identity: identityOf(2), value: null, bytes: 2_002 },
  ]);
  t.match(steps.body["items"], { length: 2 }, "the first result of an identity stays");
  const whole = await next.call("GET", `/api/runs/${item.run_id}/steps/${identityOf(2)}`);
  t.equal(whole.body["value"], large);
  t.equal((await next.call("GET", `/api/runs/${item.run_id}/steps/${identityOf(9)}`)).status, 404);
  const waits = await next.call("GET", `/api/runs/${item.run_id}/waits`);
  t.match(waits.body["items"], [{ identity: identityOf(7), kind: "sleep", outcome: { kind: "slept" }, settled_at: Number }]);
  const rest = await next.call("GET", `/api/runs/${item.run_id}/steps?after=1`);
  t.match(rest.body, { items: { length: 1 }, next_cursor: null });
});

t.test("the end of a child wakes its caller over a kill of the server, and its deletion takes its rows", async (t) => {
  const { home, server } = await serveHome(t);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "part" });
  const first = await beginItem(server);
  await reportOf(server, first, [moveEvent(3, "Completed")]);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true } });
  const caller = await beginItem(server);
  const armed = await armFor(server, caller, 1, { kind: "child", flow: "part" });
  const [wait] = (armed.body as unknown as ArmedWaits).waits;
  t.match(await reportOf(server, caller, [parkEvent(3, 1)]), { run_state: { name: "AwaitingChild" } });
  await server.kill();
  const next = await home.serve();
  const child = await beginItem(next);
  t.equal(child.run_id, wait?.child_run_id);
  t.match((await next.call("GET", `/api/runs/${child.run_id}`)).body, { caller_run_id: caller.run_id });
  await reportOf(next, child, [moveEvent(3, "Completed", { result: [1, 2] })]);
  const again = await beginItem(next);
  t.equal(again.run_id, caller.run_id);
  const waits = await next.call("GET", `/api/runs/${caller.run_id}/waits`);
  t.match(waits.body["items"], [{ child_run_id: child.run_id, outcome: { kind: "child", result: [1, 2] } }]);
  await reportOf(next, again, [moveEvent(3, "Completed")]);
  t.equal((await next.call("DELETE", `/api/runs/${caller.run_id}`)).status, 204);
  t.equal((await next.call("GET", `/api/runs/${caller.run_id}/waits`)).status, 404);
});

t.test("a retry goes on with the results of the run, or with those before a task", async (t) => {
  const { server } = await serveHome(t);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true } });
  const item = await beginItem(server);
  const ids = [1, 2, 3].map((number) => `11111111-1111-7111-8111-00000000000${number}`);
  const tasks = ids.flatMap((external_id, index) => {
    const created = { kind: "task_run_created", external_id, name: "t", task_key: "t", dynamic_key: `t-${index}` };
    return [created, { ...stepEvent(0, index + 1, `${index}`), task_run_external_id: external_id }];
  });
  const events = tasks.map((event, index) => ({ ...event, seq: index + 3 }));
  await reportOf(server, item, [...events, moveEvent(20, "Failed")]);
  const stepsOf = async (run: number): Promise<unknown[]> => {
    const { body } = await server.call("GET", `/api/runs/${run}/steps`);
    return (body["items"] as { identity: string }[]).map(({ identity }) => Number.parseInt(identity, 16));
  };
  const retry = (body?: unknown) => server.call("POST", `/api/runs/${item.run_id}/retry`, body);
  const failure = await retry();
  t.equal(failure.status, 201, "a body is not required");
  t.match(failure.body, { lineage_id: failure.body["id"] });
  t.same(await stepsOf(Number(failure.body["id"])), [1, 2, 3]);
  const fromTask = await retry({ from: "t-1" });
  t.same(await stepsOf(Number(fromTask.body["id"])), [1]);
  const fromStart = await retry({ from: "start" });
  t.same(await stepsOf(Number(fromStart.body["id"])), []);
  t.equal((await retry({ from: "nothing" })).status, 422);
  const again = await takeItem(server);
  t.match(again, { run_id: failure.body["id"], durable: { steps: 1, waits: 1 } });
  t.equal((await server.call("DELETE", `/api/runs/${item.run_id}`)).status, 204);
  t.same(await stepsOf(Number(failure.body["id"])), [1, 2, 3], "what a fork sees stays when its origin is deleted");
});

t.test("an event settles one wait of a run, also one that came before the wait", async (t) => {
  const { server } = await serveHome(t);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true } });
  const item = await beginItem(server);
  const emit = async (order: number): Promise<number> => {
    const { body } = await server.call("POST", "/api/events", { name: "order.paid", payload: { order } });
    return Number(body["id"]);
  };
  const outcomesOf = async () => {
    const { body } = await server.call("GET", `/api/runs/${item.run_id}/waits`);
    return (body["items"] as { outcome: { event?: { id: number } } | null }[]).map(({ outcome }) => outcome?.event?.id ?? null);
  };
  const settled = (expected: (number | null)[]) =>
    until(async () => ((await outcomesOf()).join() === expected.join() ? true : null));
  const early = [await emit(1), await emit(2), await emit(2)];
  await armFor(server, item, 1, { kind: "event", event: "order.paid", where: { "payload.order": 2 } });
  await settled([early[1] ?? null]);
  await armFor(server, item, 2, { kind: "event", event: "order.paid", where: { "payload.order": 2 } });
  await settled([early[1] ?? null, early[2] ?? null]);
  await armFor(server, item, 3, { kind: "event", event: "order.paid", where: { "payload.order": 7 } });
  await armFor(server, item, 4, { kind: "event", event: "order.paid", where: { "payload.order": 7 } });
  t.match(await reportOf(server, item, [parkEvent(3, 3)]), { run_state: { name: "AwaitingEvent" } });
  await emit(8);
  const late = await emit(7);
  const again = await takeItem(server);
  t.equal(again.run_id, item.run_id);
  t.same(await outcomesOf(), [early[1], early[2], late, null], "the event settles the older wait alone");
  const { body } = await server.call("GET", `/api/runs/${item.run_id}/waits?after=2`);
  t.match(body["items"], [{ outcome: { event: { id: late, name: "order.paid", payload: { order: 7 }, run_id: null } } }, {}]);
});

t.test("an event from before a run settles no wait of it, and no event settles a second one after a kill", async (t) => {
  const { home, server } = await serveHome(t);
  const order = { kind: "event", event: "order.paid" };
  const emit = async (by: typeof server): Promise<unknown> =>
    (await by.call("POST", "/api/events", { name: "order.paid" })).body["id"];
  await emit(server);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true } });
  const item = await beginItem(server);
  const since = await emit(server);
  await armFor(server, item, 1, order);
  await armFor(server, item, 2, order);
  t.match(await reportOf(server, item, [parkEvent(3, 2)]), { run_state: { name: "AwaitingEvent" } });
  await server.kill();
  const next = await home.serve();
  const late = await emit(next);
  t.equal((await takeItem(next)).run_id, item.run_id);
  const { body } = await next.call("GET", `/api/runs/${item.run_id}/waits`);
  t.match(body["items"], [{ outcome: { event: { id: since } } }, { outcome: { event: { id: late } } }]);
});

t.test("the first start of a run that crashed before it is that of the run that repeats it", async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  home.configure("[server]\ncrash_rerun_delay_secs = 0.1\n");
  const server = await home.serve();
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true, crash_retries: 1 } });
  const unstarted = await takeItem(server);
  await reportOf(server, unstarted, [moveEvent(1, "Pending"), moveEvent(2, "Crashed")]);
  const item = await beginItem(server);
  t.not(item.run_id, unstarted.run_id);
  t.match(item.durable, { lineage_id: unstarted.run_id });
  const { body } = await server.call("POST", "/api/events", { name: "order.paid" });
  await armFor(server, item, 1, { kind: "event", event: "order.paid" });
  const settled = await until(async () => {
    const waits = await server.call("GET", `/api/runs/${item.run_id}/waits`);
    return (waits.body["items"] as { outcome: unknown }[])[0]?.outcome ?? null;
  });
  t.match(settled, { event: { id: body["id"] } });
});

t.test("an event is found behind many others of its name", async (t) => {
  const { server } = await serveHome(t);
  await server.call("POST", "/api/runs", { ...FLOW, flow: "job", options: { durable: true } });
  const item = await beginItem(server);
  const custom = Array.from({ length: 1_000 }, (_, n) => ({ kind: "custom", seq: n + 3, name: "tick", payload: { n } }));
  await reportOf(server, item, custom);
  for (const [wait, n] of [999, 500, 2_000].entries())
    await armFor(server, item, wait + 1, { kind: "event", event: "tick", where: { "payload.n": n } });
  await until(async () => {
    const { body } = await server.call("GET", `/api/runs/${item.run_id}/waits`);
    const found = (body["items"] as { outcome: { event?: { payload: { n: number } } } | null }[]).map(
      ({ outcome }) => outcome?.event?.payload.n ?? null,
    );
    return found.join() === "999,500," ? true : null;
  });
  await server.call("POST", "/api/events", { name: "tick", payload: { n: 2_000 } });
  await until(async () => {
    const { body } = await server.call("GET", `/api/runs/${item.run_id}/waits`);
    return (body["items"] as { outcome: unknown }[]).every(({ outcome }) => outcome !== null) ? true : null;
  });
  t.pass("the events before the arming, and the one after it");
});
