/** A rule's `states` clause and the events that user code or a client records for a run. */
import t from "tap";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";

const ENGINE = { engine_id: "kit-1", module: "m.ts", source_dir: "/nowhere" };

async function call<T>(server: ServedProcess, method: string, path: string, body?: unknown): Promise<T> {
  return (await server.call(method, path, body)).body as T;
}

/** Names of the events for which a rule with these states has fired. */
async function firedBy(server: ServedProcess, rule: number): Promise<string[]> {
  const firings = (await server.call<{ event_id: number }>("GET", `/api/rules/${rule}/firings`)).list;
  const events = firings.map(({ event_id }) => call<{ name: string }>(server, "GET", `/api/events/${event_id}`));
  return (await Promise.all(events)).map(({ name }) => name).sort();
}

t.test("a rule's states are compared with the state the run had when an event was emitted for it", async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const server = await home.serve();
  const ruleFor = async (...states: string[]): Promise<number> => {
    const when = { events: ["kit.*"], states };
    const body = { name: states.join(), once: "never", max_per_minute: 0, when, do: [{ kind: "pause_schedule" }] };
    return (await call<{ id: number }>(server, "POST", "/api/rules", body)).id;
  };
  const scheduled = await ruleFor("Scheduled");
  const running = await ruleFor("Running");
  const retrying = await ruleFor("Retrying");
  const completed = await ruleFor("Completed");
  const { id } = await call<{ id: number }>(server, "POST", "/api/runs", { ...ENGINE, flow: "f", project: "p" });
  await call(server, "POST", "/api/events", { name: "kit.early", run_id: id });
  const work = { ...ENGINE, pid: process.pid, wait_ms: 0, owns_stop: true };
  const { run } = await call<{ run: { run_id: number; lease: number } }>(server, "POST", "/api/engine/work", work);
  t.equal(run.run_id, id);
  let seq = 0;
  const moved = (type: string, name = type) => ({ kind: "run_transition", seq: ++seq, state: state(type, name) });
  const emitted = (name: string, payload: unknown = {}) => ({ kind: "custom", seq: ++seq, name, payload });
  // One report, so that all events are committed before the rules process any.
  const events = [
    moved("Pending"),
    moved("Running"),
    emitted("kit.working"),
    emitted("kit.named", { state: "of the user", state_type: "Completed" }),
    moved("Scheduled", "AwaitingRetry"),
    moved("Running", "Retrying"),
    emitted("kit.again"),
    moved("Completed"),
    emitted("kit.after"),
  ];
  const report = { engine_id: ENGINE.engine_id, run_id: id, lease: run.lease, events };
  t.match(await call(server, "POST", "/api/engine/report", report), { applied: 9, run_state: { name: "Completed" } });
  await call(server, "POST", "/api/events", { name: "kit.late", run_id: id, payload: { state: "Running" } });
  await call(server, "POST", "/api/events", { name: "kit.other", payload: { state: "Retrying" } });
  await until(async () => ((await firedBy(server, retrying)).includes("kit.other") ? true : null));
  t.same(await firedBy(server, scheduled), ["kit.early"]);
  t.same(await firedBy(server, running), ["kit.again", "kit.named", "kit.working"]);
  t.same(await firedBy(server, retrying), ["kit.again", "kit.other"], "without a run, what the payload says counts");
  t.same(await firedBy(server, completed), ["kit.after", "kit.late"]);
  const named = await server.call("GET", "/api/events?name=kit.named");
  t.match(named.body, { items: [{ payload: { state: "of the user" }, resource: { kind: "run" } }] });

  await server.call("DELETE", `/api/runs/${id}`);
  const { id: byEvent } = (await call<{ items: { id: number }[] }>(server, "GET", "/api/events?name=kit.working")).items[0] ?? {
    id: 0,
  };
  const tested = await call(server, "POST", `/api/rules/${running}/test?event_id=${byEvent}`);
  t.match(tested, { matches: true }, "also once the run is deleted");
});

function state(type: string, name: string) {
  return { type, name, message: null, details: {}, timestamp: Date.now() * 1_000 };
}
