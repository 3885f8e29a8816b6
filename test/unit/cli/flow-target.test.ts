import { join } from "node:path";
import t from "tap";
import { plannedIn, runsText } from "#cli/home/status";
import { loadTarget, parseParameters, parseTarget } from "#cli/run/flow-target";
import { exitCodeOf } from "#cli/run/run";
import { stateFilter } from "#cli/runs/runs";
import { nextText } from "#cli/schedules/schedules";
import type { Millrace, Run, ScheduleRow } from "#sdk/client/index";

t.test("a target is a file with a flow, a file, or a name", async (t) => {
  const dir = t.testdir({ "a.ts": "" });
  const path = join(dir, "a.ts");
  t.same(parseTarget(`${path}:daily`), { kind: "file", path, flow: "daily" });
  t.same(parseTarget(path), { kind: "file", path, flow: null });
  t.same(parseTarget("daily"), { kind: "name", project: null, flow: "daily" });
  t.same(parseTarget("shop/daily"), { kind: "name", project: "shop", flow: "daily" });
  t.throws(() => parseTarget(`${path}:`), { name: "CommandError", message: /names no flow/ });
  t.throws(() => parseTarget(join(dir, "b.ts:daily")), { message: /there is no file/ });
  t.throws(() => parseTarget("b.ts"), { message: /there is no file/ });
});

t.test("parameters are JSON where they look like it, text where the flow wants text", async (t) => {
  const schema = {
    properties: {
      day: { type: "string" },
      zip: { anyOf: [{ type: "string" }, { type: "null" }] },
      n: { type: "integer" },
    },
  };
  t.same(parseParameters(["day=2026", "zip=01234", "n=3", "list=[1, 2]", "on=true", "word=a=b", "empty="], schema), {
    day: "2026",
    zip: "01234",
    n: 3,
    list: [1, 2],
    on: true,
    word: "a=b",
    empty: "",
  });
  t.same(parseParameters(["n=3"], undefined), { n: 3 });
  t.throws(() => parseParameters(["novalue"], schema), { name: "CommandError", message: /"novalue" is not a parameter/ });
});

t.test(
  "a state is a type or a sub-state in any case, or a name that a run has; another is refused with the known ones",
  async (t) => {
    const list = ({ state_name }: { state_name?: string }) => ({ first: async () => (state_name === "Resuming" ? [{}] : []) });
    const client = { runs: { list } } as unknown as Millrace;
    t.same(await stateFilter(client, "failed"), { state_type: "Failed" });
    t.same(await stateFilter(client, "awaitingretry"), { state_name: "AwaitingRetry" });
    t.same(await stateFilter(client, "Resuming"), { state_name: "Resuming" });
    t.same(await stateFilter(client, undefined), {});
    await t.rejects(stateFilter(client, "Bogus"), {
      name: "CommandError",
      message: 'there is no state "Bogus"',
      advice: /Known: Scheduled, .*Failed.*Late/,
    });
  },
);

t.test("a large integer on the command line keeps its digits", async (t) => {
  const parameters = parseParameters(["big=9007199254740993", "list=[9007199254740993, 1]"], null);
  t.equal(JSON.stringify(parameters), '{"big":9007199254740993,"list":[9007199254740993,1]}');
});

t.test("the next fire of a schedule is told in the zone of the schedule", async (t) => {
  const row = { active: true, paused_reason: null, next_fire: Date.UTC(2026, 0, 5, 23, 30) * 1000 };
  const next = (timezone: string) =>
    nextText({ ...row, schedule: { kind: "cron", cron: "30 8 * * *", timezone } } as ScheduleRow);
  t.equal(next("Asia/Tokyo"), "2026-01-06 08:30:00");
  t.equal(next("UTC"), "2026-01-05 23:30:00");
});

t.test("a file of another language is answered with the line of millrace.toml that its flows need", async (t) => {
  const dir = t.testdir({ "greetings.py": "" });
  const path = join(dir, "greetings.py");
  for (const text of [path, `${path}:broken`]) {
    const target = parseTarget(text);
    if (target.kind !== "file") throw new Error("a file was named");
    const advice = /\[engines\]\n"\*\.py" = "python3 engine\.py"\n/;
    await t.rejects(loadTarget(target, null), { name: "CommandError", message: /greetings\.py is no module/, advice });
  }
});

t.test("runs that are planned for later are not told as queued", async (t) => {
  const reason = { object: null, text: "", retries: false, since: 0, due: null };
  const reasons = [
    { ...reason, code: "not_due" as const, count: 3 },
    { ...reason, code: "no_engine" as const, count: 1 },
  ];
  t.equal(plannedIn({ reasons }), 3);
  t.equal(runsText(5, 1, 3), "5 runs not ended, 1 of them queued, 3 planned for later");
  t.equal(runsText(1, 1, 0), "1 run not ended, 1 of them queued");
});

t.test("the exit code says how the run ended", async (t) => {
  const ended = (type: string, name = type) => ({ state: { type, name } }) as Run;
  t.equal(exitCodeOf(ended("Completed")), 0);
  t.equal(exitCodeOf(ended("Completed", "Cached")), 0);
  t.equal(exitCodeOf(ended("Failed", "TimedOut")), 1);
  t.equal(exitCodeOf(ended("Crashed")), 1);
  t.equal(exitCodeOf(ended("Completed", "Skipped")), 2);
  t.equal(exitCodeOf(ended("Cancelled")), 2);
});
