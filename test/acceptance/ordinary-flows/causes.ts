/** Flows that are started by people, schedules, backfills, rules, other flows and runs. */
import { setTimeout as pause } from "node:timers/promises";
import { every, flow, rule, run, Type } from "millrace";

const Numbered = Type.Object({ n: Type.Integer() });
const Daily = Type.Object({ day: Type.String({ format: "date" }) });
const OPTIONS = { crashRetries: 1_000_000 } as const;
const OF_DAY = { day: "{{ run.parameters.day }}" };
const OF_NUMBER = { n: "{{ run.parameters.n }}" };

export const up = flow("up", { ...OPTIONS, parameters: Numbered }, async ({ n }) => {
  await pause(n % 50);
  return n;
});

const afterUp = { flows: ["up"], key: "n", parameters: OF_NUMBER };
export const down = flow("down", { ...OPTIONS, parameters: Numbered, after: afterUp }, async ({ n }) => n);

const afterBoth = { flows: ["up", "down"], key: "n", parameters: OF_NUMBER };
export const both = flow("both", { ...OPTIONS, parameters: Numbered, after: afterBoth }, async ({ n }) => n);

const Of = Type.Object({ of: Type.String() });
const afterEach = { flows: ["up"], parameters: { of: "{{ run.name }}" } };
export const each = flow("each", { ...OPTIONS, parameters: Of, after: afterEach }, async ({ of }) => of);

const schedules = [every("1s", { key: "second", catchup: "all" })];
export const tick = flow("tick", { ...OPTIONS, schedules }, async () => run.fireTime);

export const daily = flow("daily", { ...OPTIONS, parameters: Daily }, async ({ day }) => {
  await pause(10);
  return day;
});

const afterDaily = { flows: ["daily"], key: "day", parameters: OF_DAY };
export const summary = flow("summary", { ...OPTIONS, parameters: Daily, after: afterDaily }, async ({ day }) => day);

export const ruled = flow("ruled", { ...OPTIONS, parameters: Numbered }, async ({ n }) => n);
export const onGo = rule("on go", { when: { events: ["go"], project: null }, once: "never", maxPerMinute: 100_000 }, [
  { kind: "run_flow", flow: "ruled", parameters: { n: "{{ payload.n }}" } },
]);

/** Who started a run, and which of its runs this is. */
const Started = Type.Object({ by: Type.String(), k: Type.Integer() });
const STARTED = [0, 1, 2];
export const started = flow("started", { ...OPTIONS, parameters: Started }, async ({ k }) => {
  await pause(30);
  return k;
});

export const starter = flow("starter", { ...OPTIONS, parameters: Numbered }, async ({ n }) => {
  const by = `starter ${n}`;
  const runs = await started.startMany(
    STARTED.map((k) => ({ by, k })),
    { idempotencyKey: `runs of ${by}` },
  );
  return await Promise.all(runs.map((each) => each.result()));
});

export const durable = flow("durable", { ...OPTIONS, durable: true, parameters: Numbered }, async ({ n }) => {
  const runs = await started.startMany(STARTED.map((k) => ({ by: `durable ${n}`, k })));
  return await Promise.all(runs.map((each) => each.result()));
});
