import t from "tap";
import type { WorkItem } from "#protocol/records/engine";
import type { StateType } from "#protocol/records/state";
import { Reporter } from "#sdk/engine/reporter";
import type { HeldRun, ReportAnswer } from "#sdk/engine/run-channel";
import type { ReportItem } from "#sdk/execution/report-item";

interface Sent {
  kind: string;
  seq: number;
  logs?: { message: string }[];
  name?: string;
  data?: unknown;
}

/** A reporter whose requests `answer` answers, in order. */
function setUp(answer: (events: Sent[]) => ReportAnswer | undefined = () => undefined) {
  const requests: Sent[][] = [];
  const told: string[] = [];
  const weight = { chars: 0 };
  const server: HeldRun = {
    check: () => undefined,
    close: () => undefined,
    report: async (texts) => {
      const events = texts.map((text) => JSON.parse(text) as Sent);
      requests.push(events);
      const lastSeq = events.at(-1)?.seq ?? 0;
      return answer(events) ?? { kind: "applied", lastSeq, cancel: false, runState: undefined };
    },
  };
  const reporter = new Reporter(server, { run_id: 1 } as WorkItem, {
    cancelRequested: () => told.push("cancel"),
    gone: (reason) => told.push(`gone: ${reason}`),
    complain: (text) => told.push(text),
    stored: ({ identities, error }) => told.push(`stored ${identities.join()}${error === null ? "" : `: ${error}`}`),
    waiting: (chars) => {
      weight.chars += chars;
      return weight.chars;
    },
  });
  return { reporter, requests, told, weight };
}

function line(message: string): ReportItem {
  const logs = [
    { run_id: 1, task_run_id: null, task_run_external_id: null, level: 20, logger: "millrace.run", timestamp: 1, message },
  ];
  return { kind: "logs", logs };
}

const event = (name: string): ReportItem => ({ kind: "custom", name, payload: null, task_run_external_id: null });

const messagesOf = (requests: Sent[][]) => requests.flat().flatMap(({ logs }) => (logs ?? []).map(({ message }) => message));

t.test("items are numbered from 1 in order; neighbouring lines share an item", async (t) => {
  const { reporter, requests } = setUp();
  reporter.add([line("a"), line("b"), event("x"), line("c")]);
  await reporter.flush();
  reporter.add([event("y")]);
  await reporter.flush();
  t.match(requests, [
    [
      { kind: "logs", seq: 1, logs: [{ message: "a" }, { message: "b" }] },
      { kind: "custom", seq: 2, name: "x" },
      { kind: "logs", seq: 3, logs: [{ message: "c" }] },
    ],
    [{ kind: "custom", seq: 4, name: "y" }],
  ]);
});

t.test("what is added is sent without being asked for", async (t) => {
  const sent = Promise.withResolvers<void>();
  const { reporter, requests } = setUp(() => {
    sent.resolve();
    return undefined;
  });
  reporter.add([event("x")]);
  t.equal(requests.length, 0, "not at once");
  await sent.promise;
  t.equal(requests.length, 1);
});

t.test("a request carries at most 5000 items and lines", async (t) => {
  const { reporter, requests } = setUp();
  reporter.add(Array.from({ length: 12_345 }, (_, index) => line(`${index}`)));
  reporter.add(Array.from({ length: 5_001 }, (_, index) => event(`e${index}`)));
  await reporter.flush();
  for (const request of requests) t.ok(request.reduce((sum, { logs }) => sum + (logs?.length ?? 1), 0) <= 5000);
  t.same(
    messagesOf(requests),
    Array.from({ length: 12_345 }, (_, index) => `${index}`),
  );
});

t.test("a request stays below the server's limit of 64 MiB", async (t) => {
  const { reporter, requests } = setUp();
  reporter.add(Array.from({ length: 300 }, () => line("ü".repeat(250_000))));
  await reporter.flush();
  t.ok(requests.length > 1);
  for (const request of requests) t.ok(Buffer.byteLength(JSON.stringify(request)) < 64 * 1024 * 1024);
  t.equal(messagesOf(requests).length, 300);
});

t.test("413 sends the same items in smaller requests, down to halves of one item's lines", async (t) => {
  const { reporter, requests } = setUp((events) =>
    events.reduce((sum, { logs }) => sum + (logs?.length ?? 1), 0) > 10 ? { kind: "too-large" } : undefined,
  );
  reporter.add(Array.from({ length: 100 }, (_, index) => line(`${index}`)));
  reporter.add([event("x"), event("y")]);
  await reporter.flush();
  const taken = requests.filter((events) => events.reduce((sum, { logs }) => sum + (logs?.length ?? 1), 0) <= 10);
  t.same(
    messagesOf(taken),
    Array.from({ length: 100 }, (_, index) => `${index}`),
  );
  const seqs = taken.flat().map(({ seq }) => seq);
  t.same(
    seqs,
    seqs.toSorted((a, b) => a - b),
  );
  t.equal(new Set(seqs).size, seqs.length);
});

t.test("an item that the server refuses is dropped alone, and said so", async (t) => {
  const { reporter, requests, told } = setUp((events) =>
    events.some(({ name }) => name === "bad") ? { kind: "refused", error: "422 malformed" } : undefined,
  );
  reporter.add(["a", "b", "bad", "c", "d"].map(event));
  await reporter.flush();
  const taken = requests.filter((events) => !events.some(({ name }) => name === "bad"));
  t.same(
    taken.flat().map(({ name }) => name),
    ["a", "b", "c", "d"],
  );
  t.match(told, [/refused and is lost \(custom\): 422 malformed/]);
});

t.test("an artifact that is updated before it was sent goes out once", async (t) => {
  const { reporter, requests } = setUp();
  const bar = (value: number): ReportItem => ({
    kind: "artifact",
    external_id: "a",
    artifact_kind: "progress",
    key: null,
    data: { value },
    task_run_external_id: null,
  });
  reporter.add([bar(1), event("x"), bar(2), bar(3)]);
  await reporter.flush();
  reporter.add([bar(4)]);
  await reporter.flush();
  t.match(requests, [[{ kind: "artifact", data: { value: 3 } }, { name: "x" }], [{ data: { value: 4 } }]]);
});

const move = (type: StateType, timestamp = 7) => ({ type, name: type, timestamp, message: null, details: {} });

t.test("a move follows the added items in the same report; the run's state shows whether the move was accepted", async (t) => {
  const states = [move("Running"), move("Cancelling", 8), move("Completed", 9)];
  const { reporter, requests } = setUp((events) => ({
    kind: "applied",
    lastSeq: events.at(-1)?.seq ?? 0,
    cancel: false,
    runState: states.shift(),
  }));
  t.same(await reporter.move([move("Pending"), move("Running")]), { kind: "accepted" });
  reporter.add([event("x")]);
  t.match(await reporter.move([move("Completed", 9)]), { kind: "refused", current: "Cancelling" });
  t.match(await reporter.move([move("Completed", 10)]), { kind: "refused", current: "Completed" }, "of another time");
  t.match(requests, [
    [
      { kind: "run_transition", seq: 1, state: { type: "Pending" } },
      { kind: "run_transition", seq: 2, state: { type: "Running" } },
    ],
    [
      { kind: "custom", seq: 3 },
      { kind: "run_transition", seq: 4 },
    ],
    [{ kind: "run_transition", seq: 5 }],
  ]);
});

t.test(
  "a move is settled when the run is gone, when the move itself is refused, and when nothing is sent any more",
  async (t) => {
    const gone = setUp(() => ({ kind: "gone", reason: "404 run 1 not found" }));
    t.same(await gone.reporter.move([move("Completed")]), { kind: "gone" });
    t.same(await gone.reporter.move([move("Completed")]), { kind: "gone" }, "and stays so");
    const refused = setUp((events) => {
      if (events.some(({ kind }) => kind === "run_transition")) return { kind: "refused", error: "422 state: too long" };
      return undefined;
    });
    refused.reporter.add([event("x")]);
    t.match(await refused.reporter.move([move("Completed")]), { kind: "refused", error: "422 state: too long" });
    t.ok(
      refused.requests.some((events) => events.length === 1 && events[0]?.name === "x"),
      "the rest is sent",
    );
  },
);

t.test("the answers tell of cancels and of runs that are gone; then nothing more is sent", async (t) => {
  const gone: ReportAnswer = { kind: "gone", reason: "409 run 1 has ended" };
  const answers: ReportAnswer[] = [{ kind: "applied", lastSeq: 1, cancel: true, runState: undefined }, gone];
  const { reporter, requests, told } = setUp(() => answers.shift());
  reporter.add([event("x")]);
  await reporter.flush();
  reporter.add([event("y")]);
  await reporter.flush();
  reporter.add([event("z")]);
  await reporter.flush();
  t.same(told, ["cancel", "gone: the run is gone: 409 run 1 has ended"]);
  t.equal(requests.length, 2);
});

t.test("what waits to be sent is weighed until it was sent or given up", async (t) => {
  const { reporter, weight } = setUp();
  reporter.add([line("x".repeat(1_000))]);
  t.ok(weight.chars > 1_000);
  await reporter.flush();
  t.equal(weight.chars, 0);
  reporter.add([line("y"), line("z")]);
  t.ok(weight.chars > 0);
  reporter.close();
  t.equal(weight.chars, 0);
  reporter.close();
  t.equal(weight.chars, 0);
});

t.test("while too much of all runs waits, lines are dropped and counted", async (t) => {
  const { reporter, requests, weight } = setUp();
  weight.chars = 129_000_000;
  reporter.add([line("a"), line("b"), event("x")]);
  weight.chars = 0;
  await reporter.flush();
  t.same(messagesOf(requests), ["2 log lines were dropped while the server could not be reached"]);
});

const stepItem = (identity: string): ReportItem => ({ kind: "step", identity, place: "p", name: "a", value: "1" });

t.test("a step is sent at once, and its code continues at the commit", async (t) => {
  const { reporter, requests, told } = setUp();
  reporter.add([event("x"), stepItem("s1")]);
  t.equal(requests.length, 1, "without a delay");
  reporter.add([stepItem("s2"), stepItem("s3")]);
  await reporter.flush();
  t.match(requests, [
    [{ kind: "custom" }, { kind: "step", identity: "s1", value: "1" }],
    [{ identity: "s2" }, { identity: "s3" }],
  ]);
  t.same(told, ["stored s1", "stored s2,s3"]);
});

t.test("a step that the server refuses is never committed", async (t) => {
  const { reporter, told } = setUp((events) =>
    events.some((sent) => "identity" in sent && sent.identity === "bad")
      ? { kind: "refused", error: "422 malformed" }
      : undefined,
  );
  reporter.add([stepItem("good"), stepItem("bad")]);
  await reporter.flush();
  t.same(told.slice(0, 2), ["stored good", "stored bad: 422 malformed"]);
});

t.test("under a lease that is over no step counts as committed, and the run is given up", async (t) => {
  const fenced: ReportAnswer = { kind: "applied", lastSeq: 1, cancel: false, runState: undefined, fenced: true };
  const { reporter, told } = setUp(() => fenced);
  reporter.add([stepItem("s1")]);
  await reporter.flush();
  t.same(told, ["gone: another engine has been given the run"]);
  const other = setUp(() => fenced);
  other.reporter.add([event("x")]);
  await other.reporter.flush();
  t.same(other.told, [], "what needs no lease is stored all the same");
});

t.test("a run has left its engine when the server says how it waits, and not when it is being cancelled", async (t) => {
  const park = (type: StateType) => {
    const { reporter, requests } = setUp(() => ({
      ...{ kind: "applied", lastSeq: 1, cancel: false },
      runState: { type, name: type, timestamp: 5 },
    }));
    const progress = { attempt: 1, times: [], ran_us: 0 };
    return { answer: reporter.park({ kind: "park", timestamp: 1, waits: ["w"], progress }), requests };
  };
  const scheduled = park("Scheduled");
  t.same(await scheduled.answer, { kind: "accepted" });
  t.match(scheduled.requests, [[{ kind: "park", seq: 1 }]]);
  t.same(await park("Paused").answer, { kind: "accepted" });
  t.match(await park("Cancelling").answer, { kind: "refused", current: "Cancelling" });
});
