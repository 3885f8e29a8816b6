/** Lists of runs, task runs and events compared with a simple sort and filter of the same rows; pages visit each row once. */

import fc from "fast-check";
import t from "tap";
import { SEARCHED_PARAMETERS_BYTES_MAX } from "#protocol/limits";
import type { EventsQuery } from "#protocol/records/event";
import { RUN_SORTS, type RunSort, type RunsQuery } from "#protocol/records/run";
import { isTerminal, STATE_TYPES } from "#protocol/records/state";
import type { TaskRunsQuery } from "#protocol/records/task-run";
import type { Primitive } from "#protocol/wire/feed";
import { eventContext } from "#storage/queries/event-record";
import { eventsPage } from "#storage/queries/events-page";
import { runCounts } from "#storage/queries/run-counts";
import { runsPage } from "#storage/queries/runs-page";
import { taskRunsPage } from "#storage/queries/task-runs-page";
import { putOperation } from "#storage/write/ops";
import {
  durationOf,
  openStore,
  putFlow,
  putRun,
  putRunEvent,
  putTaskRun,
  type RunSpec,
  request,
  type Store,
} from "../support/storage-rows.ts";

const FLOWS = [
  { id: 1, project: "p", name: "a" },
  { id: 2, project: "p", name: "b" },
  { id: 3, project: "q", name: "a" },
];

const time = fc.integer({ min: 0, max: 40 });
const optionalTime = fc.option(time, { nil: null });
const small = fc.option(fc.integer({ min: 1, max: 2 }), { nil: null });

const runSpec = fc.record({
  flow: fc.integer({ min: 1, max: 3 }),
  name: fc.constantFrom("alpha", "Beta", "a%b", "a_b", "Zeta", "beta"),
  tags: fc.subarray(["x", "y", "z"]),
  type: fc.constantFrom(...STATE_TYPES),
  sub: fc.constantFrom(null, null, "Late", "Skipped", "Completed", "Mine"),
  created: time,
  start: optionalTime,
  length: fc.integer({ min: 0, max: 9 }),
  scheduled: optionalTime,
  schedule: small,
  backfill: small,
  message: fc.constantFrom(null, null, "Disk full", "late"),
  parameters: fc.constantFrom({}, {}, { day: "4711" }, { pad: "4711".repeat(SEARCHED_PARAMETERS_BYTES_MAX) }),
});

/** A schedule has one run per time: further ones get no schedule. */
function onePerFire<S extends { schedule: number | null; scheduled: number | null }>(specs: readonly S[]): S[] {
  const taken = new Set<string>();
  return specs.map((spec) => {
    const key = `${spec.schedule} ${spec.scheduled}`;
    if (spec.schedule === null || spec.scheduled === null || !taken.has(key)) {
      taken.add(key);
      return spec;
    }
    return { ...spec, schedule: null };
  });
}

const query = fc.record(
  {
    project: fc.constantFrom("p", "q", "none"),
    flow: fc.constantFrom("a", "b"),
    flow_id: fc.integer({ min: 1, max: 4 }),
    state_type: fc.constantFrom("Completed", "Failed", "Running", "Scheduled", "Nothing"),
    state_name: fc.constantFrom("Completed", "Skipped", "Late", "Running", "Nothing"),
    states: fc.subarray(["Failed", "Crashed", "Completed", "Running", "Nothing"], { minLength: 1 }),
    ended_after: time,
    name: fc.constantFrom("A", "%", "_", "eta", "q"),
    tags: fc.subarray(["x", "y"], { minLength: 1 }),
    start_after: time,
    start_before: time,
    schedule_id: fc.integer({ min: 1, max: 2 }),
    backfill_id: fc.integer({ min: 1, max: 2 }),
    scheduled_after: time,
    search: fc.constantFrom("ETA", "p/", "q/a", "a_", "%", "disk full", "disk  p", "4711", "y", " ", "none"),
  },
  { requiredKeys: [] },
);

function fill(store: Store, specs: readonly (typeof runSpec extends fc.Arbitrary<infer S> ? S : never)[]): RunSpec[] {
  const ops: Primitive[] = [];
  for (const { id, project, name } of FLOWS) putFlow(ops, id, project, name);
  const fires = new Set<string>();
  const runs = specs.map((spec, index): RunSpec => {
    const end = isTerminal(spec.type) ? (spec.start ?? spec.created) + spec.length : null;
    // One run per fire: the store rejects a second one.
    const fire = `${spec.schedule} ${spec.scheduled}`;
    const schedule = spec.scheduled !== null && fires.has(fire) ? null : spec.schedule;
    fires.add(fire);
    return { ...spec, schedule, id: 1 + index * 50, stateName: spec.sub ?? spec.type, end };
  });
  for (const run of runs) putRun(ops, run);
  store.writer.commit(request(store.writer, 1, { ops }));
  return runs;
}

function matches(run: RunSpec, q: Partial<RunsQuery>): boolean {
  const flow = FLOWS[run.flow - 1];
  const start = run.start ?? run.created;
  return (
    (q.project === undefined || flow?.project === q.project) &&
    (q.flow === undefined || flow?.name === q.flow) &&
    (q.flow_id === undefined || run.flow === q.flow_id) &&
    (q.state_type === undefined || run.type === q.state_type) &&
    (q.states === undefined || q.states.includes(run.type)) &&
    (q.ended_after === undefined || (run.end !== null && run.end >= q.ended_after)) &&
    (q.state_name === undefined || run.stateName === q.state_name) &&
    (q.name === undefined || run.name.toLowerCase().includes(q.name.toLowerCase())) &&
    (q.tags === undefined || q.tags.every((tag) => run.tags.includes(tag))) &&
    (q.start_after === undefined || start >= q.start_after) &&
    (q.start_before === undefined || start <= q.start_before) &&
    (q.schedule_id === undefined || run.schedule === q.schedule_id) &&
    (q.backfill_id === undefined || run.backfill === q.backfill_id) &&
    (q.scheduled_after === undefined || (run.scheduled !== null && run.scheduled >= q.scheduled_after)) &&
    (q.search ?? "").split(" ").every((word) => textsOf(run).some((text) => text.toLowerCase().includes(word.toLowerCase())))
  );
}

function parametersOf({ parameters = {} }: RunSpec): string[] {
  const text = JSON.stringify(parameters);
  return text === "{}" || text.length > SEARCHED_PARAMETERS_BYTES_MAX ? [] : [text];
}

function textsOf(run: RunSpec): string[] {
  const flow = FLOWS[run.flow - 1];
  const tags = run.tags.length === 0 ? [] : [JSON.stringify(run.tags)];
  return [run.name, `${flow?.project}/${flow?.name}`, ...tags, run.message ?? "", ...parametersOf(run)];
}

/** Null is below every number: first in ascending and last in descending order, except last in scheduled_asc. */
const KEYS: Record<RunSort, (run: RunSpec) => number | string> = {
  created_desc: (run) => run.id,
  created_asc: (run) => run.id,
  start_desc: (run) => run.start ?? run.created,
  start_asc: (run) => run.start ?? run.created,
  duration_desc: (run) => durationOf(run) ?? -1,
  duration_asc: (run) => durationOf(run) ?? -1,
  name_asc: (run) => run.name,
  scheduled_asc: (run) => run.scheduled ?? Number.MAX_SAFE_INTEGER,
  activity: (run) => activity(run),
};

/** Ascending: running, waiting, ended and future runs; within each the newest first, but of future runs the next first. */
function activity(run: RunSpec): number {
  if (run.end !== null) return 2_000_000 - run.end - run.id / 1e4;
  if (run.start !== null) return -run.start - run.id / 1e4;
  const coming = run.scheduled !== null && run.type === "Scheduled" && run.stateName === "Scheduled";
  return coming ? 3_000_000 + (run.scheduled ?? 0) : 1_000_000 - run.id;
}

function expected(runs: readonly RunSpec[], q: Partial<RunsQuery>, sort: RunSort): number[] {
  const sign = sort.endsWith("_desc") ? -1 : 1;
  const key = KEYS[sort];
  const order = (a: RunSpec, b: RunSpec) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.id - b.id);
  return runs
    .filter((run) => matches(run, q))
    .sort((a, b) => sign * order(a, b))
    .map((run) => run.id);
}

interface Page {
  items: { id: number }[];
  next_cursor: number | null;
}

/** Ids of all pages in order. */
function walk(read: (cursor: number | null) => string): number[] {
  const ids: number[] = [];
  let cursor: number | null = null;
  do {
    const page: Page = JSON.parse(read(cursor));
    ids.push(...page.items.map((item) => item.id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  return ids;
}

t.test("pages of runs visit what the filters allow once, in the order of the sort", async (t) => {
  const property = fc.property(
    fc.array(runSpec, { minLength: 1, maxLength: 60 }).map(onePerFire),
    fc.array(
      fc.tuple(
        query,
        fc.constantFrom(...RUN_SORTS),
        fc.integer({ min: 1, max: 7 }),
        fc.constantFrom(0, 5, 4_000),
        fc.constantFrom(1, 7, 4_000),
      ),
      {
        minLength: 4,
        maxLength: 12,
      },
    ),
    (specs, queries) => {
      const store = openStore();
      const runs = fill(store, specs);
      for (const [filters, sort, limit, collectedMax, searchedMax] of queries) {
        const got = walk(
          (cursor) =>
            runsPage(
              store.statements,
              { query: { ...filters, sort, limit, ...(cursor === null ? {} : { cursor }) } },
              { collectedMax, searchedMax },
            ).text,
        );
        t.strictSame(got, expected(runs, filters, sort), `${sort} ${collectedMax} ${searchedMax} ${JSON.stringify(filters)}`);
      }
      store.database.close();
    },
  );
  fc.assert(property, { numRuns: 60 });
});

t.test("counts of runs are those of the lists, by state", async (t) => {
  const counted = (runs: readonly RunSpec[], filters: Partial<RunsQuery>) => {
    const states: Record<string, number> = {};
    const found = runs.filter((run) => matches(run, filters));
    for (const run of found) states[run.stateName] = (states[run.stateName] ?? 0) + 1;
    return { total: found.length, states };
  };
  // A name of the catalogue has one type; other names may have any.
  const named = runSpec.map(
    (spec) => ({ ...spec, sub: spec.sub === "Late" || spec.sub === "Skipped" ? "Mine" : spec.sub }) as const,
  );
  const property = fc.property(
    fc.array(named, { minLength: 1, maxLength: 60 }).map(onePerFire),
    fc.array(query, { minLength: 4, maxLength: 12 }),
    (specs, queries) => {
      const store = openStore();
      const runs = fill(store, specs);
      const ops: Primitive[] = [];
      for (const run of runs) putOperation(ops, "count_runs", { flow_id: run.flow, state_type: run.type, delta: 1 });
      store.writer.commit(request(store.writer, 2, { ops }));
      for (const filters of [...queries, {}])
        t.strictSame(JSON.parse(runCounts(store.statements, filters)), counted(runs, filters), JSON.stringify(filters));
      store.database.close();
    },
  );
  fc.assert(property, { numRuns: 60 });
});

const TASK_QUERIES: Partial<TaskRunsQuery>[] = [
  {},
  { state_type: "Failed" },
  { state_type: "Running" },
  { project: "q" },
  { project: "p", flow: "a", state_type: "Failed" },
  { run_id: 7 },
  { state_name: "Failed", flow: "b" },
];

const EVENT_QUERIES: Partial<EventsQuery>[] = [
  {},
  { name: "run.failed" },
  { name: "run.*" },
  { name: "mine.x", flow_id: 3 },
  { flow_id: 3 },
  { run_id: 40 },
  { after: 1_400, before: 1_450 },
  { name: "run.*", after: 1_400, before: 1_900, flow_id: 1 },
  { name: "none" },
  { resource_kind: "run" },
  { resource_kind: "task_run" },
];

t.test("a search looks through a bounded number of runs, and says where it stopped", async (t) => {
  const store = openStore();
  const spec = { flow: 1, type: "Completed", sub: null, created: 1, start: 1, length: 1, schedule: null } as const;
  const rest = { scheduled: null, backfill: null, message: null, parameters: {} };
  const specs = Array.from(
    { length: 30 },
    (_, index) => ({ ...spec, ...rest, tags: [] as string[], name: index === 2 ? "alpha" : "Zeta" }) as const,
  );
  const runs = fill(store, specs);
  const pageOf = (cursor: number | undefined): Page =>
    JSON.parse(
      runsPage(
        store.statements,
        { query: { sort: "activity", limit: 5, search: "alp", ...(cursor === undefined ? {} : { cursor }) } },
        { collectedMax: 0, searchedMax: 10 },
      ).text,
    );
  t.same(pageOf(undefined), { items: [], next_cursor: runs[20]?.id }, "the ten newest");
  t.same(pageOf(runs[20]?.id), { items: [], next_cursor: runs[10]?.id });
  const last = pageOf(runs[10]?.id);
  t.same(
    last.items.map(({ id }) => id),
    [runs[2]?.id],
  );
  t.equal(last.next_cursor, null);
  const counts = (search: string, most: number) => JSON.parse(runCounts(store.statements, { search }, most));
  t.same(counts("zeta", 10), { total: 10, states: { Completed: 10 }, more: true });
  t.same(counts("zeta", 30), { total: 29, states: { Completed: 29 } });
  store.database.close();
});

t.test("pages of task runs and events agree with a plain filter, over many stretches of ids", async (t) => {
  const store = openStore();
  const ops: Primitive[] = [];
  for (const { id, project, name } of FLOWS) putFlow(ops, id, project, name);
  const tasks: { id: number; flow: number; type: string }[] = [];
  const events: { id: number; name: string; flow: number; at: number; run: number }[] = [];
  for (let run = 1; run <= 300; run++) {
    const flow = run % 50 === 0 ? 3 : (run % 2) + 1;
    const type = run % 40 === 0 ? "Failed" : "Completed";
    putRun(ops, {
      ...{ id: run, flow, name: `r${run}`, tags: [], type, stateName: type, created: run, start: run, end: run + 1 },
      ...{ scheduled: null, schedule: null, backfill: null },
    });
    for (let index = 0; index < 3; index++) {
      const id = tasks.length + 1;
      const taskType = id % 97 === 0 ? "Failed" : run > 298 ? "Running" : "Completed";
      putTaskRun(ops, id, run, taskType, taskType);
      tasks.push({ id, flow, type: taskType });
    }
    for (let index = 0; index < 5; index++) {
      const name = run % 40 === 0 && index === 4 ? "run.failed" : (["run.scheduled", "run.pending", "mine.x"][index % 3] ?? "");
      const at = 1_000 + events.length - (events.length % 7) * 3;
      putRunEvent(ops, name, run, flow, type, at);
      events.push({ id: events.length + 1, name, flow, at, run });
    }
  }
  store.writer.commit(request(store.writer, 1, { ops }));
  const flowsOf = (q: Partial<TaskRunsQuery>) =>
    FLOWS.filter((flow) => (q.project ?? flow.project) === flow.project && (q.flow ?? flow.name) === flow.name).map((f) => f.id);
  for (const q of TASK_QUERIES) {
    const want = tasks
      .filter((task) => flowsOf(q).includes(task.flow) && (q.state_type ?? q.state_name ?? task.type) === task.type)
      .filter((task) => q.run_id === undefined || Math.ceil(task.id / 3) === q.run_id)
      .map((task) => task.id)
      .reverse();
    const got = walk(
      (cursor) => taskRunsPage(store.statements, { query: { ...q, limit: 50, ...(cursor === null ? {} : { cursor }) } }).text,
    );
    t.strictSame(got, want, JSON.stringify(q));
  }
  const context = eventContext(store.statements);
  for (const q of EVENT_QUERIES)
    for (const ascending of [false, true]) {
      const prefix = q.name?.endsWith("*") ? q.name.slice(0, -1) : null;
      const want = events
        .filter((event) => (prefix === null ? (q.name ?? event.name) === event.name : event.name.startsWith(prefix)))
        .filter((event) => (q.flow_id ?? event.flow) === event.flow && (q.run_id ?? event.run) === event.run)
        .filter((event) => event.at >= (q.after ?? 0) && event.at <= (q.before ?? Number.MAX_SAFE_INTEGER))
        .filter(() => q.resource_kind !== "task_run")
        .map((event) => event.id);
      const got = walk(
        (cursor) =>
          eventsPage(store.statements, { query: { ...q, limit: 50, ascending, ...(cursor === null ? {} : { cursor }) } }, context)
            .text,
      );
      t.strictSame(got, ascending ? want : want.reverse(), JSON.stringify({ ...q, ascending }));
    }
});
