/** The wall clock of a server is set 100 days forward and back, and engines have different clocks: nothing may be lost. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import t, { type Test } from "tap";
import { millrace } from "../support/command-line.ts";
import { CLOCK_STEP, EVENT_TABLE } from "../support/event-table.ts";
import { type HardenedServer, startHardenedServer } from "./hardened-server.ts";

const DAY_MS = 86_400_000;
/** How long the clock is wrong: about forty checks of everything that depends on it. */
const WRONG_MS = 10_000;
const RUNS = 20;
const FLOW = { flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere" };
const CONFIG = "[server]\ncancel_grace_secs = 1\n[defaults]\nretain_days = 30\nretain_runs_days = 90\n";

type Body = Record<string, unknown>;

class Scene {
  readonly server: HardenedServer;
  readonly clock: string;

  constructor(server: HardenedServer, clock: string) {
    this.server = server;
    this.clock = clock;
  }

  static async start(t: Test): Promise<Scene> {
    const clock = join(t.testdir({ offset: "0" }), "offset");
    const server = await startHardenedServer([], undefined, { config: CONFIG, clock });
    t.teardown(() => server.stop());
    return new Scene(server, clock);
  }

  async call(method: string, path: string, body?: unknown): Promise<Body> {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const answer = await fetch(`${this.server.url}${path}`, { ...init, headers: { "content-type": "application/json" } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Body;
  }

  /** Sets the clock and waits until the server has noticed. */
  async setClock(days: number, steps: number): Promise<void> {
    writeFileSync(this.clock, String(days * DAY_MS));
    while ((await this.steps()).length < steps) await pause(50);
  }

  async steps(): Promise<Body[]> {
    return (await this.call("GET", `/api/events?name=${CLOCK_STEP}`))["items"] as Body[];
  }

  /** Sets the clock wrong for a while, then right. */
  async stepForAWhile(days: number): Promise<void> {
    const { length } = await this.steps();
    await this.setClock(days, length + 1);
    await pause(WRONG_MS);
    await this.setClock(0, length + 2);
  }

  /** An engine of another host takes the run. */
  async take(id: number): Promise<{ engine: { engine_id: string }; run: unknown }> {
    const engine = {
      engine_id: `e${id}`,
      pid: 1,
      host: "elsewhere",
      source_dir: FLOW.source_dir,
      module: FLOW.module,
      owns_stop: true,
    };
    const { run } = await this.call("POST", "/api/engine/work", { ...engine, run_id: id, wait_ms: 5_000 });
    return { engine, run };
  }

  /** A run that has ended, with a line in its log. */
  async endedRun(): Promise<number> {
    const { id } = await this.call("POST", "/api/runs", FLOW);
    const { engine, run } = await this.take(Number(id));
    const timestamp = Date.now() * 1000;
    const line = { run_id: id, level: 20, logger: "l", timestamp, message: "kept" };
    const events = [
      { kind: "run_transition", seq: 1, state: { type: "Running", timestamp } },
      { kind: "logs", seq: 2, logs: [line] },
      { kind: "run_transition", seq: 3, state: { type: "Completed", timestamp } },
    ];
    await this.call("POST", "/api/engine/report", {
      engine_id: engine.engine_id,
      run_id: id,
      events,
      lease: (run as Body)["lease"],
    });
    return Number(id);
  }
}

t.test("a clock that is 100 days ahead, then 100 days behind, each for ten seconds, deletes nothing", async (t) => {
  const scene = await Scene.start(t);
  const runs: number[] = [];
  for (let run = 0; run < RUNS; run += 1) runs.push(await scene.endedRun());
  const run = await scene.call("GET", `/api/runs/${runs[0]}`);
  const schedule = await scene.call("POST", `/api/flows/${run["flow_id"]}/schedules`, { kind: "interval", interval: 86_400 });
  const nextFire = async (): Promise<number> => {
    const listed = (await scene.call("GET", `/api/flows/${run["flow_id"]}/schedules`)) as unknown as Body[];
    return Number(listed.find(({ id }) => id === schedule["id"])?.["next_fire"]);
  };
  const before = await nextFire();

  await scene.stepForAWhile(100);
  t.ok((await nextFire()) > before + 90 * DAY_MS * 1000, "fires were decided ahead");
  await scene.stepForAWhile(-100);

  for (const id of runs) {
    t.equal((await scene.call("GET", `/api/runs/${id}`))["id"], id);
    t.equal(((await scene.call("GET", `/api/runs/${id}/logs`))["items"] as unknown[]).length, 1, `the line of run ${id}`);
  }
  const steps = await scene.steps();
  t.equal(steps.length, 4);
  const { resource, related, payload } = steps[0] as { resource: Body; related: unknown[]; payload: Body };
  t.same({ resource: resource["kind"], related, payload: Object.keys(payload).sort() }, EVENT_TABLE[CLOCK_STEP]);

  const { clock_problem: problem } = await scene.call("GET", "/api/server");
  t.match(problem, { step_secs: Number, retention_waits_secs: Number, schedules_count: 1, schedules: [{ id: schedule["id"] }] });
  const { home } = scene.server;
  t.match(await millrace("status", "--home", home), {
    code: 0,
    out: /Clock +The clock of this machine was set forward by 100 days\./,
  });
  t.match(await millrace("doctor", "--home", home), { code: 0, out: /clock .*\n +- The clock of this machine was set/ });
  t.match(await millrace("doctor", "--accept-clock", "--home", home), {
    code: 0,
    out: /The clock is accepted as it is.*\n.*1 schedule go(es)? on from now/,
  });
  t.match(await scene.call("GET", "/api/server"), { clock_problem: null });
  while ((await nextFire()) !== before) await pause(50);
  t.notMatch((await millrace("status", "--home", home)).out, /Clock/);
  t.equal(scene.server.ended(), null);
});

t.test("runs keep their whole time limit with engines whose clocks are two minutes off", async (t) => {
  const scene = await Scene.start(t);
  const limit = { ...FLOW, options: { timeout_seconds: 60 } };
  const take = async (skewMs: number): Promise<number> => {
    const { id } = await scene.call("POST", "/api/runs", limit);
    const { engine, run } = await scene.take(Number(id));
    const state = { type: "Running", timestamp: (Date.now() + skewMs) * 1000 };
    const events = [{ kind: "run_transition", seq: 1, state }];
    await scene.call("POST", "/api/engine/report", {
      engine_id: engine.engine_id,
      run_id: id,
      events,
      lease: (run as Body)["lease"],
    });
    return Number(id);
  };
  const [behind, ahead] = [await take(-120_000), await take(120_000)];
  // Wait for twice the grace: a limit counted from the engine's time would have ended the runs.
  await pause(5_000);
  for (const id of [behind, ahead]) t.match(await scene.call("GET", `/api/runs/${id}`), { state: { type: "Running" } });
});

t.test("doctor says that a clock can be accepted by a running server only", async (t) => {
  const home = t.testdir({});
  t.match(await millrace("doctor", "--accept-clock", "--home", home), { code: 3, errors: /no server is running/ });
});
