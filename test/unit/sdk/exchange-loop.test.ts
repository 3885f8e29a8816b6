/** What the engine puts into its exchanges, and what becomes of the answers. */
import t from "tap";
import type { WorkItem } from "#protocol/records/engine";
import type { ExchangeResponse } from "#protocol/records/exchange";
import { ExchangeLoop } from "#sdk/engine/exchange-loop";
import type { ReportAnswer, RunWatcher } from "#sdk/engine/run-channel";
import { type ExchangeBody, type ServerApi, UnexpectedAnswer } from "#sdk/engine/server-api";

interface Sent extends ExchangeBody {
  events: readonly string[];
}

type Answer = Partial<ExchangeResponse> | Error;

/** A loop whose exchanges `answer` answers, in order; a held exchange without an answer ends with the next one. */
function setUp(answer: (sent: Sent) => Answer | undefined = () => ({})) {
  const exchanges: Sent[] = [];
  const reports: string[][] = [];
  const given: WorkItem[] = [];
  let release: () => void = () => undefined;
  const api = {
    exchange: async (body: ExchangeBody, events: readonly string[]) => {
      const sent = { ...body, events };
      exchanges.push(sent);
      release();
      const answered = answer(sent);
      if (answered instanceof Error) throw answered;
      if (answered === undefined) await new Promise<void>((resolve) => (release = resolve));
      return { exchange: body.exchange, exit: false, runs: [], reports: [], stop: [], ...answered };
    },
    report: async (_: WorkItem, events: string[]): Promise<ReportAnswer> => {
      reports.push(events);
      return applied;
    },
  };
  const loop = new ExchangeLoop(api as unknown as ServerApi, {
    slots: (ending) => 5 + ending,
    blockedMs: () => null,
    given: (items) => given.push(...items),
  });
  const next = (): Promise<unknown> => loop.next(new AbortController().signal).catch((error: unknown) => error);
  return { loop, exchanges, reports, given, next };
}

const applied: ReportAnswer = { kind: "applied", lastSeq: 1, cancel: false, runState: undefined };
const item = (run_id: number, lease: number): WorkItem => ({ run_id, lease }) as WorkItem;
const outcome = (run_id: number, rest: object = {}) => ({
  run_id,
  lease: run_id * 10,
  applied: 1,
  skipped: 0,
  last_seq: 1,
  ...rest,
});

const GONE = "gone: the server answered an exchange that this engine does not hold the run";

function watcher() {
  const told: string[] = [];
  const watch: RunWatcher = {
    cancelRequested: () => told.push("cancel"),
    gone: (reason) => told.push(`gone: ${reason}`),
    lost: () => told.push("lost"),
  };
  return { told, watch };
}

const refused = (status: number): UnexpectedAnswer => new UnexpectedAnswer({ status, body: { error: "x" }, retryAfterMs: 0 });

t.test("a run is held from the answer that gives it; a second answer with it gives nothing", async (t) => {
  const { loop, exchanges, given, next } = setUp(() => ({ runs: [item(1, 10)] }));
  await next();
  await next();
  t.equal(given.length, 1);
  t.same(exchanges[1]?.held, [{ run_id: 1, lease: 10 }]);
  loop.hold(item(1, 10), watcher().watch).close();
  await next();
  t.same(exchanges[2]?.held, []);
  t.equal(given.length, 1, "nor after the end of the run");
});

t.test("reports without an answer go into the next exchange, with the number and list of that one", async (t) => {
  const answers: Answer[] = [new Error("cut"), { reports: [outcome(1), outcome(2)] as ExchangeResponse["reports"] }];
  const { loop, exchanges, next } = setUp(() => answers.shift());
  const first = loop.hold(item(1, 10), watcher().watch).report(["{}"], true);
  t.match(await next(), { message: "cut" });
  const second = loop.hold(item(2, 20), watcher().watch).report(["{}"], false);
  await next();
  t.match(await Promise.all([first, second]), [{ kind: "applied" }, { kind: "applied" }]);
  t.match(exchanges, [
    { exchange: 1, slots: 6, hold: false, reports: [{ run_id: 1, lease: 10 }], held: [{ run_id: 1 }] },
    { exchange: 2, slots: 6, hold: false, reports: [{ run_id: 1 }, { run_id: 2 }], held: [{ run_id: 1 }, { run_id: 2 }] },
  ]);
});

t.test("a report wakes an exchange that the server holds; one after the other for the same run", async (t) => {
  const { loop, exchanges, next } = setUp(({ hold, reports }) =>
    hold === false ? { reports: reports.map(({ run_id }) => outcome(run_id)) as ExchangeResponse["reports"] } : undefined,
  );
  const held = loop.hold(item(1, 10), watcher().watch);
  const ended = next();
  await new Promise((resolve) => setImmediate(resolve));
  const reported = [held.report(["1"], false), held.report(["2"], false)];
  await ended;
  t.match(await reported[0], { kind: "applied" });
  t.match(exchanges, [
    { exchange: 1, hold: undefined },
    { exchange: 2, hold: false, events: ["1"] },
  ]);
  await next();
  t.match(await reported[1], { kind: "applied" });
  t.same(exchanges[2]?.events, ["2"]);
});

t.test("a refused report refuses no other; one whose run is busy is sent again", async (t) => {
  const outcomes = [
    outcome(1, { status: 422, error: "malformed" }),
    outcome(2),
    outcome(3, { status: 409, error: "run 3 has ended" }),
    outcome(4, { status: 503 }),
    outcome(4),
  ] as ExchangeResponse["reports"];
  const { loop, next } = setUp(({ reports }) => ({ reports: outcomes.splice(0, reports.length) }));
  const sent = [1, 2, 3, 4].map((run) => loop.hold(item(run, run * 10), watcher().watch).report(["{}"], false));
  await next();
  t.match(await Promise.all(sent.slice(0, 3)), [
    { kind: "refused", error: "malformed" },
    { kind: "applied" },
    { kind: "gone", reason: "409 run 3 has ended" },
  ]);
  while (outcomes.length > 0) await next();
  t.match(await sent[3], { kind: "applied" });
});

t.test("a refused exchange whose reports may be the cause leaves each to a request of its own", async (t) => {
  for (const status of [400, 413, 422, 500, 503]) {
    let answered = false;
    const { loop, exchanges, reports, next } = setUp(() => {
      if (answered) return { reports: [outcome(1), outcome(2)] as ExchangeResponse["reports"] };
      answered = true;
      return refused(status);
    });
    const sent = [1, 2].map((run) => loop.hold(item(run, run * 10), watcher().watch).report([`${run}`], false));
    t.match(await next(), { status });
    await next();
    t.match(await Promise.all(sent), [{ kind: "applied" }, { kind: "applied" }], String(status));
    t.same(reports, status === 503 ? [] : [["1"], ["2"]]);
    t.equal(exchanges[1]?.reports.length, status === 503 ? 2 : 0);
  }
});

t.test("an exchange has at most half of its bytes of reports; a larger report is a request of its own", async (t) => {
  const { loop, exchanges, reports, next } = setUp(({ reports: parts }) => ({
    reports: parts.map(({ run_id }) => outcome(run_id)) as ExchangeResponse["reports"],
  }));
  const text = JSON.stringify("ü".repeat(100_000));
  const sent = [1, 2, 3, 4].map((run) => loop.hold(item(run, run * 10), watcher().watch).report([text], false));
  sent.push(loop.hold(item(5, 50), watcher().watch).report([text, text], false));
  await next();
  await next();
  await Promise.all(sent);
  t.same(
    exchanges.map(({ events }) => events.length),
    [2, 2],
  );
  t.same(reports, [[text, text]]);
});

t.test("a stop is told once, also one that came before the run was begun", async (t) => {
  const stop = [
    { run_id: 1, lease: 10, reason: "cancel" },
    { run_id: 2, lease: 20, reason: "gone" },
    { run_id: 1, lease: 9, reason: "gone" },
  ] as ExchangeResponse["stop"];
  const { loop, next } = setUp(() => ({ runs: [item(1, 10)], stop }));
  const second = watcher();
  loop.hold(item(2, 20), second.watch);
  await next();
  await next();
  await next();
  const first = watcher();
  loop.hold(item(1, 10), first.watch);
  t.same(first.told, ["cancel"]);
  t.same(second.told, [GONE]);
});

t.test("a run whose last report is under way is not gone; a cancel still arrives", async (t) => {
  const stopOf = (run_id: number, reason: string): object => ({ run_id, lease: run_id * 10, reason });
  const stop = [stopOf(1, "gone"), stopOf(2, "cancel"), stopOf(3, "gone")] as ExchangeResponse["stop"];
  const { loop, next } = setUp(({ reports }) => ({
    stop,
    reports: reports.map(({ run_id }) => outcome(run_id)) as ExchangeResponse["reports"],
  }));
  const watchers = [watcher(), watcher(), watcher()];
  for (const [index, { watch }] of watchers.entries()) {
    const id = index + 1;
    void loop.hold(item(id, id * 10), watch).report(["Completed"], id < 3);
  }
  await next();
  t.same(
    watchers.map(({ told }) => told),
    [[], ["cancel"], [GONE]],
  );
});

t.test("a run that is handed back is listed until the server has it", async (t) => {
  const { loop, exchanges, next } = setUp(({ reports }) => ({
    runs: [item(1, 10)],
    reports: reports.map(({ run_id }) => outcome(run_id)) as ExchangeResponse["reports"],
  }));
  await next();
  const back = loop.giveBack(item(1, 10));
  await next();
  await back;
  t.match(exchanges[1], { slots: 6, held: [{ run_id: 1 }], reports: [{ run_id: 1, lease: 10, returned: true }] });
  await next();
  t.same(exchanges[2]?.held, []);
});

t.test("runs that are given up hear it once, and their reports fail", async (t) => {
  const { loop, next } = setUp(() => new Error("cut"));
  const { told, watch } = watcher();
  const report = loop.hold(item(1, 10), watch).report(["{}"], false);
  await next();
  loop.lose();
  loop.lose();
  t.same(told, ["lost"]);
  await t.rejects(report, /no server was reached/);
});

t.test("the reports of a job, which has no lease, are requests of their own", async (t) => {
  const { loop, exchanges, reports, next } = setUp();
  const job = loop.hold({ run_id: 7 } as WorkItem, watcher().watch);
  await job.report(["{}"], false);
  await next();
  t.same(reports, [["{}"]]);
  t.match(exchanges, [{ held: [], reports: [] }]);
  job.close();
});

t.test("a free slot sends an exchange of its own only if the server does not know that it is free", async (t) => {
  const { loop, exchanges, next } = setUp(({ exchange }) => ({ runs: exchange === 2 ? [item(1, 10)] : [] }));
  for (let exchange = 1; exchange <= 3; exchange += 1) {
    await next();
    // The helper always has five slots: after the run of the second answer, the server counts on four.
    loop.freed();
  }
  t.same(
    exchanges.map(({ hold }) => hold),
    [undefined, undefined, false],
  );
});
