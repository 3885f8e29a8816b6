/** Wrong and too large exchanges over HTTP: each is refused with what is wrong, and nothing of it is done. */
import t, { type Test } from "tap";
import { ENGINE_SLOTS_MAX, EXCHANGE_BYTES_MAX, EXCHANGE_HELD_MAX, EXCHANGE_REPORTS_MAX } from "#protocol/limits";
import type { ExchangeResponse } from "#protocol/records/exchange";
import { type Answer, ServedHome, type ServedProcess } from "../support/served-home.ts";

const FLOW = { project: "shop", flow: "job", module: "jobs.py", source_dir: "/jobs" };
const IDENTITY = { engine_id: "e1", pid: process.pid, source_dir: FLOW.source_dir, module: FLOW.module };
/** The refusal of a body whose parts are all of the wrong kind has to be short. */
const ERROR_LENGTH_MAX = 500;

interface Held {
  run_id: number;
  lease: number;
}

/** A server, and an engine that has begun a run. */
class Begun {
  readonly server: ServedProcess;
  readonly held: Held;
  #number = 2;

  private constructor(server: ServedProcess, held: Held) {
    this.server = server;
    this.held = held;
  }

  static async on(t: Test): Promise<Begun> {
    const home = new ServedHome();
    t.teardown(() => home.remove());
    const server = await home.serve();
    await server.call("POST", "/api/runs", FLOW);
    const given = await server.call("POST", "/api/engine/exchange", bodyOf({ exchange: 1, slots: 1 }));
    const [item] = answerOf(given).runs;
    const begun = new Begun(server, { run_id: item?.run_id ?? 0, lease: item?.lease ?? 0 });
    const reports = [{ ...begun.held, events: [moved(1, "Pending"), moved(2, "Running")] }];
    const started = await begun.#send(bodyOf({ exchange: 2, held: [begun.held], reports }));
    t.match(answerOf(started).reports, [{ run_state: { type: "Running" } }]);
    return begun;
  }

  /** Sends an exchange that also ends the run, by a report which is right. */
  send(wish: Record<string, unknown>): Promise<Answer<unknown>> {
    const reports = [{ ...this.held, events: [moved(3, "Completed")] }];
    return this.#send(bodyOf({ exchange: 1_000, held: [this.held], reports, ...wish }));
  }

  sendText(text: string, contentType = "application/json"): Promise<Response> {
    const headers = { "content-type": contentType };
    return fetch(`${this.server.url}/api/engine/exchange`, { method: "POST", headers, body: text });
  }

  /** What was refused has changed neither the run nor what the server knows of the engine. */
  async isUntouched(t: Test, what: string): Promise<void> {
    const run = await this.server.call("GET", `/api/runs/${this.held.run_id}`);
    t.match(run.body, { state: { type: "Running" }, report_seq: 2, engine_id: "e1" }, what);
    this.#number += 1;
    const next = await this.#send(bodyOf({ exchange: this.#number, held: [this.held], hold: false }));
    t.same(answerOf(next), { exchange: this.#number, exit: false, runs: [], reports: [], stop: [] }, what);
  }

  #send(body: unknown): Promise<Answer<unknown>> {
    return this.server.call("POST", "/api/engine/exchange", body);
  }
}

function bodyOf(wish: Record<string, unknown>): Record<string, unknown> {
  return { ...IDENTITY, slots: 0, held: [], reports: [], ...wish };
}

function answerOf({ status, text, body }: Answer<unknown>): ExchangeResponse {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body as unknown as ExchangeResponse;
}

function moved(seq: number, type: string): unknown {
  const state = { type, name: type, timestamp: Date.now() * 1_000, message: null, details: {} };
  return { kind: "run_transition", seq, state };
}

t.test("an exchange with a wrong value is refused as a whole, and says which one", { timeout: 120_000 }, async (t) => {
  const begun = await Begun.on(t);
  const { held } = begun;
  const report = { ...held, events: [] };
  const wrong: [wish: Record<string, unknown>, error: RegExp][] = [
    ...[-1, ENGINE_SLOTS_MAX + 1, 1_000_000, 1e300, 1.5, "8", null, [8], undefined].map(
      (slots): [Record<string, unknown>, RegExp] => [{ slots }, /^slots: (?:expected|is required)/],
    ),
    ...[0, -1, 1.5, "1", 2 ** 63, undefined].map((exchange): [Record<string, unknown>, RegExp] => [{ exchange }, /exchange/]),
    [{ held: [held, held] }, /^run 1 is named twice$/],
    [{ reports: [report, { ...report, lease: 99 }] }, /^run 1 is named twice$/],
    [{ held: [{ run_id: "1", lease: 1 }] }, /^held\[0\]\.run_id: expected/],
    [{ held: {} }, /^held: expected/],
    [{ reports: [{ run_id: 1, events: [] }] }, /^reports\[0\]/],
    [{ reports: [{ ...held, events: "none" }] }, /^reports\[0\]\.events: expected/],
    [{ reports: [{ ...report, returned: "yes" }] }, /^reports\[0\]\.returned: expected/],
    [{ reports: null }, /^reports: expected/],
    [{ engine_id: 7 }, /^engine_id: expected/],
    [{ pid: "1" }, /^pid: expected/],
  ];
  for (const [wish, error] of wrong) {
    const what = JSON.stringify(wish);
    const refused = await begun.send(wish);
    t.equal(refused.status, 422, what);
    t.match(refused.body["error"], error, what);
    await begun.isUntouched(t, what);
  }
  for (const text of ["", "null", "[]", "7", '{"engine_id":', `${JSON.stringify(bodyOf({ exchange: 1_000 }))}}`]) {
    const refused = await begun.sendText(text);
    t.ok(refused.status === 400 || refused.status === 422, `${text}: ${refused.status}`);
    t.match(await refused.json(), { error: /./ }, text);
  }
  const foreign = await begun.sendText(JSON.stringify(bodyOf({ exchange: 1_000 })), "text/plain");
  t.equal(foreign.status, 415);
  await begun.isUntouched(t, "no JSON");
});

t.test("an exchange without slots gets no run and says nothing against the engine", async (t) => {
  const begun = await Begun.on(t);
  await begun.server.call("POST", "/api/runs", FLOW);
  await begun.isUntouched(t, "slots 0");
});

t.test("a report of a run that the engine never had is refused alone", async (t) => {
  const begun = await Begun.on(t);
  const { server, held } = begun;
  await server.call("POST", "/api/runs", { ...FLOW, flow: "other" });
  const other = { engine_id: "e2", exchange: 1, slots: 1 };
  const [item] = answerOf(await server.call("POST", "/api/engine/exchange", bodyOf(other))).runs;
  const theirs = { run_id: item?.run_id ?? 0, lease: item?.lease ?? 0 };
  const [waiting, gone] = [3, 4711];
  await server.call("POST", "/api/runs", FLOW);
  const end = [moved(1, "Pending"), moved(2, "Running"), moved(3, "Failed")];
  const answer = await begun.send({
    reports: [
      { ...theirs, events: end },
      { run_id: waiting, lease: 1, events: end },
      { run_id: gone, lease: 1, events: end },
      { ...held, lease: 77, events: end },
    ],
  });
  t.match(answerOf(answer).reports, [
    { ...theirs, status: 409, error: /^engine e1 never held run 2 under lease 2/ },
    { run_id: waiting, status: 409, error: /never held run 3 under lease 1/ },
    { run_id: gone, status: 404, error: /run 4711 not found/ },
    { run_id: held.run_id, status: 409, error: /never held run 1 under lease 77/ },
  ]);
  for (const [id, type] of [
    [held.run_id, "Running"],
    [theirs.run_id, "Scheduled"],
    [waiting, "Scheduled"],
  ]) {
    const { body } = await server.call("GET", `/api/runs/${id}`);
    t.match(body, { state: { type }, task_counts: {} }, String(id));
  }
  const kept = await server.call("POST", "/api/engine/exchange", bodyOf({ ...other, exchange: 2, held: [theirs], hold: false }));
  t.same(answerOf(kept).stop, [], "the other engine goes on with its run");
});

t.test("an exchange of more runs, reports or bytes than the limits is refused as a whole", { timeout: 120_000 }, async (t) => {
  const begun = await Begun.on(t);
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ run_id: n + 1, lease: n + 1 }));
  const tooMany = await begun.send({ held: many(EXCHANGE_HELD_MAX + 1) });
  t.same([tooMany.status, tooMany.body["error"]], [422, `held: expected at most ${EXCHANGE_HELD_MAX} items`]);
  await begun.isUntouched(t, "too many runs");
  const reports = many(EXCHANGE_REPORTS_MAX + 1).map((one) => ({
    ...one,
    events: one.run_id === 1 ? [moved(3, "Completed")] : [],
  }));
  const tooManyReports = await begun.send({ reports });
  t.equal(tooManyReports.status, 422);
  t.match(tooManyReports.body["error"], /^reports: expected at most \d+ items$/);
  await begun.isUntouched(t, "too many reports");
  const allWrong = await begun.send({ held: many(EXCHANGE_HELD_MAX).map(() => "no") });
  t.equal(allWrong.status, 422);
  t.ok(String(allWrong.body["error"]).length < ERROR_LENGTH_MAX, "one of many wrong values is named");
  for (const bytes of [EXCHANGE_BYTES_MAX + 1, 30_000_000]) {
    const logs = [{ run_id: 1, level: 20, logger: "l", timestamp: 1, message: "x".repeat(bytes) }];
    const refused = await begun.send({ reports: [{ ...begun.held, events: [{ kind: "logs", seq: 3, logs }] }] });
    t.same([refused.status, refused.body], [413, { error: `body exceeds ${EXCHANGE_BYTES_MAX} bytes` }]);
    await begun.isUntouched(t, `${bytes} bytes`);
  }
});
