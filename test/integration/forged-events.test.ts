/** Only the server records catalogue events: events that engines and clients send under these names reach no rule. */
import t from "tap";
import { ServedHome, until } from "../support/served-home.ts";

const ENGINE = { engine_id: "kit-1", module: "m.ts", source_dir: "/nowhere" };

t.test("a rule on run.completed fires when the run has completed, not when an engine or a client says the name", async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const server = await home.serve();
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
    (await server.call(method, path, body)).body as T;
  const when = { events: ["run.completed", "kit.end"] };
  const action = { name: "r", once: "never", max_per_minute: 0, when, do: [{ kind: "pause_schedule" }] };
  const rule = await call<{ id: number }>("POST", "/api/rules", action);
  const { id } = await call<{ id: number }>("POST", "/api/runs", { ...ENGINE, flow: "f", project: "p" });
  const polled = { ...ENGINE, pid: process.pid, wait_ms: 0, owns_stop: true };
  const { run } = await call<{ run: { lease: number } }>("POST", "/api/engine/work", polled);
  const report = (events: readonly object[]): Promise<unknown> =>
    call("POST", "/api/engine/report", { engine_id: ENGINE.engine_id, run_id: id, lease: run.lease, events });
  const state = (type: string) => ({ type, name: type, timestamp: Date.now() * 1_000 });
  t.match(
    await report([
      { kind: "run_transition", seq: 1, state: state("Running") },
      { kind: "custom", seq: 2, name: "run.completed", payload: {} },
      { kind: "custom", seq: 3, name: "kit.said", payload: {} },
    ]),
    { applied: 2, skipped: 1, last_seq: 3, run_state: { type: "Running" } },
  );
  for (const name of ["run.completed", " run.completed ", "run.*"])
    t.match(await server.call("POST", "/api/events", { name, run_id: id }), { status: 422 }, name);
  await report([{ kind: "run_transition", seq: 4, state: state("Completed") }]);
  await call("POST", "/api/events", { name: "kit.end", run_id: id });
  const firings = async () => (await server.call<{ event_id: number }>("GET", `/api/rules/${rule.id}/firings`)).list;
  const fired = await until(async () => {
    const list = await firings();
    return list.length >= 2 ? list : null;
  });
  t.equal(fired.length, 2);
  const completed = await server.call("GET", `/api/events?run_id=${id}&name=run.completed`);
  t.match(completed.body, { items: [{ payload: { state_type: "Completed" } }], next_cursor: null });
  const logs = await server.call("GET", `/api/runs/${id}/logs`);
  t.match(logs.body, { items: [{ level: 30, message: /"run\.completed": only the server records events under "run\."/ }] });
});
