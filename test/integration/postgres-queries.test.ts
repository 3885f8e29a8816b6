/**
 * Every query answers from PostgreSQL what it answers from SQLite, byte for byte, and the core loads the same state. The stores
 * have the rows of simulations; MILLRACE_TEST_STORES sets their number, two to four.
 */
import { deflateRawSync } from "node:zlib";
import t, { type Test } from "tap";
import { RUN_SORTS } from "#protocol/records/run";
import { SUB_STATES } from "#protocol/records/state";
import { STREAM_KINDS } from "#protocol/wire/feed";
import { eventsBefore } from "#storage/load/lineage-events";
import {
  endedRunsOf,
  hasOldHistory,
  hasSecrets,
  loadBackfill,
  loadStore,
  runsEndedBefore,
  runsOfFiresAfter,
} from "#storage/load/load";
import { durableReads } from "#storage/load/load-durable";
import { eventsAfter, eventsBetween, latestEvents, type SeenEvent } from "#storage/load/load-events";
import { chainOf, hasFired, loadRules } from "#storage/load/load-rules";
import { loadRun, loadRuns, readTexts, unfinishedRuns } from "#storage/load/load-runs";
import { Connection } from "#storage/postgres/connection";
import { migratePostgres } from "#storage/postgres/migrate";
import { openPostgresReadHandle } from "#storage/postgres/read-handle";
import { eventNames, type MessageSubject, messageSubject, runSubjects } from "#storage/queries/message-subject";
import { messageTexts } from "#storage/queries/message-texts";
import { QUERIES, type QueryArguments, type QueryName, runPart } from "#storage/queries/named";
import { AwaitedQueries, EXCEEDED } from "#storage/read/awaited-queries";
import type { Database } from "#storage/sqlite/driver";
import { Statements } from "#storage/sqlite/statements";
import { AWAITED_EVENT } from "../sim/durable-program.ts";
import { runSeed } from "../sim/simulation.ts";
import { copyToPostgres } from "../support/postgres-copy.ts";
import { postgresPrograms, startPostgres } from "../support/postgres-server.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked, MILLRACE_TEST_STORES: stores = "2" } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

/** The first two have rows for every query. */
const SEEDS = [4, 12, 1, 10].slice(0, Number(stores));
const MESSAGES = 2_500;
/** Parts of one answer that are compared. */
const PARTS_MAX = 12;
const NOW_US = 1_800_000_000_000_000;

type Ask = { [N in QueryName]: [name: N, args: QueryArguments[N]] }[QueryName];

/** Ids and values of the store, of which the arguments are made. */
class Facts {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  ids(table: string, most = 12, column = "id"): number[] {
    const rows = this.#statements.raw<[number]>(`SELECT DISTINCT ${column} FROM ${table} WHERE ${column} IS NOT NULL`).all();
    const ids = rows.map(([id]) => id).sort((a, b) => a - b);
    const step = Math.max(1, Math.floor(ids.length / most));
    return [...ids.filter((_id, index) => index % step === 0), 999_999];
  }

  texts(table: string, column: string): string[] {
    const rows = this.#statements.raw<[string]>(`SELECT DISTINCT ${column} FROM ${table} WHERE ${column} IS NOT NULL`).all();
    return rows.map(([text]) => text).sort();
  }

  hexes(table: string, column: string): string[] {
    return this.texts(table, `hex(${column})`).slice(0, 12);
  }

  time(table: string, column: string): number {
    const rows = this.#statements.raw<[number]>(`SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL ORDER BY 1`).all();
    return rows[Math.floor(rows.length / 2)]?.[0] ?? 0;
  }
}

function* runQueries(facts: Facts): Generator<QueryArguments["runs"]["query"]> {
  const start = facts.time("runs", "start_time");
  const filters: Partial<QueryArguments["runs"]["query"]>[] = [
    {},
    { states: ["Failed", "Crashed"] },
    { states: ["Scheduled", "Running"] },
    { state_type: "Completed" },
    ...Object.keys(SUB_STATES).map((state_name) => ({ state_name })),
    { state_name: "Completed", project: "sim" },
    { name: "a" },
    { name: "100%_\\" },
    { search: "sim/ x" },
    { search: "\0 'quoted' ;--" },
    { tags: ["t2"] },
    { tags: ["t2", "absent"] },
    { parameters: { x: 3 } },
    { parameters: { x: "3", "odd 'name'": "v" } },
    { flow: "shared" },
    { flow: "shared", states: ["Completed"] },
    { start_after: start },
    { start_before: start, states: ["Completed"] },
    { ended_after: start, states: ["Failed"] },
    { ended_after: start, ended_before: start + 5_000_000 },
    { scheduled_after: start },
    ...facts.ids("schedules", 3).map((schedule_id) => ({ schedule_id })),
    ...facts.ids("backfills", 3).map((backfill_id) => ({ backfill_id })),
  ];
  const cursor = facts.ids("runs", 3)[1] ?? 1;
  for (const sort of RUN_SORTS) {
    // The records of so many runs are not read with their ids.
    yield { sort, limit: 500 };
    for (const filter of filters) {
      yield { ...filter, sort, limit: 7 };
      yield { ...filter, sort, limit: 3, cursor };
    }
  }
}

function* eventQueries(facts: Facts): Generator<QueryArguments["events"]["query"]> {
  const middle = facts.time("events", "occurred");
  const filters: Partial<QueryArguments["events"]["query"]>[] = [
    {},
    { name: "run.*" },
    { name: "run.completed" },
    { name: "no such name" },
    { resource_kind: "run" },
    { resource_kind: "task_run" },
    { resource_kind: "flow" },
    { resource_id: "x" },
    { after: middle },
    { before: middle, name: "run.*" },
    ...facts.ids("runs", 3).map((run_id) => ({ run_id })),
    ...facts.ids("flows", 3).map((flow_id) => ({ flow_id })),
    ...facts
      .texts("runs", "hex(external_id)")
      .slice(0, 3)
      .map((hex) => ({ resource_id: uuidOf(hex) })),
  ];
  for (const filter of filters)
    for (const ascending of [true, false]) {
      yield { ...filter, ascending, limit: 9 };
      yield { ...filter, ascending, limit: 9, cursor: facts.ids("events", 3)[1] ?? 1 };
    }
}

function uuidOf(hex: string): string {
  return hex.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function* asks(facts: Facts): Generator<Ask> {
  const live = facts.ids("flows", 4);
  const page = { limit: 5 };
  const level = 0;
  for (const id of facts.ids("runs")) {
    yield ["run", { id }];
    yield ["run_tasks", { id }];
    yield ["run_tasks", { id, query: { after: 2, limit: 2 } }];
    yield ["run_graph", { id }];
    yield ["run_timing", { id, now_us: NOW_US }];
    yield ["run_waited", { id, at: null }];
    yield ["run_waited", { id, at: NOW_US }];
    for (const query of [
      { ...page, level },
      { ...page, level: 30, search: "E" },
      { limit: 3, level, tail: true },
    ])
      yield ["run_logs", { id, query }];
    yield ["run_artifacts", { id }];
    yield ["run_input", { id }];
    yield ["run_steps", { id, query: page }];
    yield ["run_waits", { id, query: page }];
    for (const identity of facts.hexes("steps", "identity")) yield ["run_step", { id, identity: identity.toLowerCase() }];
  }
  for (const id of facts.ids("task_runs")) {
    yield ["task_run", { id }];
    yield ["task_run_logs", { id, query: { ...page, level } }];
    yield ["task_run_artifacts", { id }];
  }
  for (const query of runQueries(facts)) {
    yield ["runs", { query }];
    yield ["run_counts", { query: { ...query, sort: undefined, limit: undefined, cursor: undefined } as never }];
  }
  for (const query of eventQueries(facts)) yield ["events", { query }];
  for (const id of facts.ids("events", 60)) yield ["event", { id }];
  yield* taskAsks(facts);
  yield* otherAsks(facts, live);
}

function* taskAsks(facts: Facts): Generator<Ask> {
  const start = facts.time("task_runs", "start_time");
  const filters: Partial<QueryArguments["task_runs"]["query"]>[] = [
    {},
    { run_id: facts.ids("task_runs", 3, "run_id")[0] ?? 1 },
    { project: "sim" },
    { flow: "shared" },
    { state_type: "Completed" },
    { state_name: "Running" },
    { state_name: "Odd" },
    { name: "T" },
    { start_after: start },
    { start_before: start },
  ];
  for (const filter of filters) {
    yield ["task_runs", { query: { ...filter, limit: 6 } }];
    yield ["task_runs", { query: { ...filter, limit: 6, cursor: facts.ids("task_runs", 3)[1] ?? 1 } }];
  }
  const searches: Partial<QueryArguments["log_search"]["query"]>[] = [
    {},
    { q: "e" },
    { q: "\\ %" },
    { level: 40 },
    { flow_id: facts.ids("flows")[0] ?? 1 },
    { run_id: facts.ids("log_blocks", 3, "run_id")[0] ?? 1 },
    { after: facts.ids("log_blocks", 3)[1] ?? 1 },
  ];
  for (const search of searches) yield ["log_search", { query: { level: 0, limit: 20, ...search } }];
  const artifacts: Partial<QueryArguments["artifacts"]["query"]>[] = [
    {},
    ...facts.texts("artifacts", "kind").map((kind) => ({ kind })),
    ...facts.texts("artifacts", "key").map((key) => ({ key })),
    { flow: "shared" },
    { project: "sim", after: facts.ids("artifacts", 2)[0] ?? 1 },
    { run_id: facts.ids("artifacts", 2, "run_id")[0] ?? 1 },
  ];
  for (const query of artifacts) yield ["artifacts", { query: { limit: 4, ...query } }];
  for (const id of facts.ids("artifacts")) yield ["artifact", { id }];
}

function* otherAsks(facts: Facts, live: number[]): Generator<Ask> {
  for (const id of facts.ids("flows")) {
    yield ["flow", { id, live, now_us: NOW_US }];
    yield ["flow_summary", { id, live, now_us: NOW_US }];
    yield ["flow_schedules", { id, now_us: NOW_US }];
    yield ["flow_timing", { id }];
    yield ["flow_backfills", { id }];
  }
  for (const project of [null, "sim", "absent"]) {
    yield ["flow_summaries", { project, live, now_us: NOW_US, results: 3 }];
    yield ["counts", { project }];
  }
  yield ["flow_summaries", { project: null, reference: "sim/shared", live, now_us: NOW_US }];
  for (const id of facts.ids("schedules")) yield ["schedule", { id, now_us: NOW_US }];
  for (const id of facts.ids("backfills")) {
    yield ["backfill", { id }];
    yield ["backfill_values", { id }];
    yield ["backfill_created", { id }];
    yield ["backfill_updated", { id }];
  }
  yield ["backfills", { limit: 3 }];
  for (const each of [1, 100]) yield ["schedule_runs", { after: 0, before: NOW_US * 2, each }];
  yield* ruleAsks(facts);
  for (const name of [...facts.texts("variables", "name"), "absent"]) {
    yield ["variable", { name }];
    yield ["variable", { name, raw: true }];
  }
  yield ["variables", {}];
  const ended = facts.time("runs", "end_time");
  for (const hours of [1, 24, 720]) yield ["stats", { hours, now_us: ended + 1_000_000 }];
}

/** What simulations lack: a block of deflated lines, and an artifact of a task run. */
function addRows(database: Database): void {
  const lines = Array.from({ length: 500 }, (_each, index) => [null, 20, `line ${index}`, index, "ä".repeat(40)]);
  const id = Number(database.prepareRaw<[number]>("SELECT max(id) FROM log_blocks").get()?.[0] ?? 0) + lines.length;
  const [run = 1] = database.prepareRaw<[number]>("SELECT min(id) FROM runs").get() ?? [];
  database
    .prepare("INSERT INTO log_blocks (id, run_id, attempt, count, level_mask, lines) VALUES (?, ?, 0, ?, 4, ?)")
    .run(id, run, lines.length, deflateRawSync(JSON.stringify(lines)));
  database.exec(`INSERT INTO artifacts (id, external_id, run_id, task_run_id, key, kind, created_at, updated_at, data)
    SELECT coalesce((SELECT max(id) FROM artifacts), 0) + id, randomblob(16), run_id, id, 'k' || id, 'text', 5, 6, '{"text":"t"}'
    FROM task_runs WHERE id % 7 = 0`);
}

function* ruleAsks(facts: Facts): Generator<Ask> {
  const events = facts.ids("events", 25);
  for (const id of facts.ids("rules")) {
    yield ["rule", { id }];
    yield ["rule_firings", { id }];
    yield ["rule_firings", { id, limit: 2, before: facts.ids("firings", 3)[1] ?? 1 }];
    for (const open of [true, false]) yield ["rule_expectations", { id, open, limit: 5 }];
    for (const event_id of [null, ...events.slice(0, 6)]) yield ["rule_test", { id, event_id, now_us: NOW_US }];
  }
  yield ["rules", {}];
  const action = JSON.stringify({ kind: "run", message: "{{ event.name }} {{ run.name }} {{ flow.name }} {{ run.parameters }}" });
  yield ["rendered_actions", { items: events.map((event) => ({ event, action })) }];
  for (const id of facts.ids("expectations")) {
    yield ["expectation_armed", { id }];
    yield ["expectation_met", { id }];
  }
  for (const id of events) yield ["expectation_lapsed", { id }];
  const middle = facts.time("events", "occurred");
  for (const name of ["run.completed", "run.*", "a"]) {
    const match = { events: [name], flows: [], tags: [], states: [], project: null };
    yield ["expected_event", { match, from_us: middle - 60_000_000, to_us: middle + 60_000_000 }];
    yield ["expected_event", { match: { ...match, tags: ["t2"], project: "sim" }, from_us: 0, to_us: NOW_US }];
  }
}

/** The parts of an answer, or how the query fails. */
function answerOf<N extends QueryName>(statements: Statements, name: N, first: QueryArguments[N]): (string | null)[] {
  const texts: (string | null)[] = [];
  let args: QueryArguments[N] | null = first;
  try {
    while (args !== null && texts.length < PARTS_MAX) {
      const part = runPart(statements, name, args) as { text: string; next: QueryArguments[N] | null } | null;
      texts.push(part?.text ?? null);
      args = part?.next ?? null;
    }
  } catch (error) {
    texts.push(`fails: ${String(error)}`);
  }
  return texts;
}

/** The first part of an answer whose statements were awaited, or how the query fails. */
async function awaitedAnswer<N extends QueryName>(awaited: AwaitedQueries, name: N, args: QueryArguments[N]) {
  try {
    const part = await awaited.run(name, args);
    return part === EXCEEDED ? EXCEEDED : (part?.text ?? null);
  } catch (error) {
    return `fails: ${String(error)}`;
  }
}

interface PostgresReads {
  postgres: Statements;
  /** Null where only the blocking reads are compared. */
  awaited: AwaitedQueries | null;
}

async function compareQueries(
  t: Test,
  sqlite: Statements,
  { postgres, awaited }: PostgresReads,
  met: Set<QueryName>,
): Promise<void> {
  let [count, exceeded] = [0, 0];
  for (const [name, args] of asks(new Facts(sqlite))) {
    const expected = answerOf(sqlite, name, args);
    const found = answerOf(postgres, name, args);
    const early = awaited === null ? expected[0] : await awaitedAnswer(awaited, name, args);
    count += 1;
    if (early === EXCEEDED) exceeded += 1;
    else if (early !== expected[0]) t.same(early, expected[0], `awaited ${name} ${JSON.stringify(args)}`);
    if (expected.some((text) => text !== null && text !== "[]" && !text.startsWith("fails"))) met.add(name);
    if (JSON.stringify(expected) !== JSON.stringify(found)) t.same(found, expected, `${name} ${JSON.stringify(args)}`);
  }
  t.ok(count > 500, `${count} answers compared`);
  t.ok(exceeded < count / 10, `${exceeded} of them read too much to be awaited`);
}

/** Compares what a load returns, or how it fails. */
type Compare = (what: string, read: (statements: Statements) => unknown) => void;

const plain = ({ record, ...event }: SeenEvent) => ({ ...event, record: record() });

function compareLoads(t: Test, sqlite: Statements, postgres: Statements): void {
  const facts = new Facts(sqlite);
  const both: Compare = (what, read) => t.strictSame(read(postgres), read(sqlite), what);
  both("the state", ({ database }) => loadStore(database));
  both("unfinished runs", (statements) => [...unfinishedRuns(statements)]);
  both("rules", (statements) => loadRules(statements));
  both("whether there are secrets", (statements) => hasSecrets(statements));
  const runs = facts.ids("runs", 30);
  for (const id of runs) {
    both(`run ${id}`, (statements) => loadRun(statements, id, true));
    both(`texts of run ${id}`, (statements) => readTexts(statements, id));
    both(`chain of run ${id}`, (statements) => chainOf(statements, id));
    for (const rule of facts.ids("rules", 3)) both(`rule ${rule} of run ${id}`, (statements) => hasFired(statements, rule, id));
  }
  both("some runs", (statements) => loadRuns(statements, runs));
  for (const id of facts.ids("backfills")) both(`backfill ${id}`, (statements) => loadBackfill(statements, id));
  for (const id of facts.ids("flows")) both(`runs of flow ${id}`, (statements) => endedRunsOf(statements, id, 5));
  const middle = facts.time("runs", "end_time");
  for (const before of [0, middle, NOW_US])
    both(`history before ${before}`, (statements) => hasOldHistory(statements, before, Number.MAX_SAFE_INTEGER));
  both("runs that ended before", (statements) => runsEndedBefore(statements, middle, 9));
  for (const id of facts.ids("schedules")) both(`fires of ${id}`, (statements) => runsOfFiresAfter(statements, id, 0));
  compareEvents(facts, both);
  compareDurable(facts, both);
}

function compareEvents(facts: Facts, both: Compare): void {
  both("the latest events", (statements) => [...latestEvents(statements, 20)].map(plain));
  for (const cursor of facts.ids("events", 5)) {
    both(`events after ${cursor}`, (statements) => {
      const { events, to } = eventsAfter(statements, cursor, 500, () => true);
      return { to, events: events.map(plain) };
    });
    for (const lineage of facts.ids("lineages", 4)) {
      const bounds = { name: "run.completed", lineage, after: 0, to: cursor };
      both(`events before ${cursor}`, (statements) => [...eventsBefore(statements, bounds)].map(plain));
    }
  }
  const middle = facts.time("events", "occurred");
  for (const name of ["run.completed", "run.*"])
    both(`${name} between`, (statements) => [...eventsBetween(statements, name, middle - 9_000_000, middle)].map(plain));
}

function compareDurable(facts: Facts, both: Compare): void {
  const lineages = facts.ids("lineages");
  const [away, waits] = [facts.ids("parks", 9, "run_id"), facts.ids("waits")];
  both("runs that are away", (statements) => durableReads(statements).readAway());
  both("open waits", (statements) => durableReads(statements).readOpenWaits(new Set(lineages.slice(0, 2))));
  both("lineages", (statements) => durableReads(statements).readLineages(lineages));
  both("parks", (statements) => durableReads(statements).readParks(away));
  both("parked runs", (statements) => durableReads(statements).loadParked(away));
  both("runs of waits", (statements) => durableReads(statements).findParked({ waits, lineages, callback: "ab" }));
  for (const id of lineages) {
    both(`lineage ${id}`, (statements) => durableReads(statements).readLineage(id));
    both(`newest run of ${id}`, (statements) => durableReads(statements).newestRunOf(id));
    both(`event of ${id}`, (statements) => durableReads(statements).isEventOf(id, { id: 1_000, name: AWAITED_EVENT }));
    for (const table of ["steps", "waits"] as const)
      both(`${table} of ${id}`, (statements) => durableReads(statements).hasRows(table, id));
    for (const identity of facts.hexes("waits", "identity"))
      both(`wait ${identity} of ${id}`, (statements) => durableReads(statements).findWait(id, identity.toLowerCase()));
  }
}

/** What the stream reads of its messages, one by one and together. */
function compareMessages(t: Test, sqlite: Statements, postgres: Statements): void {
  const facts = new Facts(sqlite);
  const [runs, events] = [facts.ids("runs", 500), facts.ids("events", 500)];
  const single = (name: "run" | "task_run" | "event", id: number) => runPart(sqlite, name, { id })?.text ?? null;
  const kinds = [
    ["run.updated", "run", runs],
    ["task_run.updated", "task_run", facts.ids("task_runs", 500)],
    ["event.created", "event", events],
  ] as const;
  for (const [kind, name, ids] of kinds) {
    const texts = messageTexts(postgres, kind, ids);
    t.same(messageTexts(sqlite, kind, ids), texts, `texts of ${kind}`);
    const expected = ids.map((id) => [id, single(name, id)] as const);
    t.same(
      new Map(expected.flatMap(([id, text]) => (text === null || !texts.has(id) ? [] : [[id, text]]))),
      texts,
      `texts of ${kind} are those of GET`,
    );
    const existing = expected.filter(([, text]) => text !== null).length;
    t.ok(texts.size > 0.9 * existing, `${texts.size} of ${existing} texts of ${kind} are short`);
  }
  for (const statements of [sqlite, postgres]) {
    const subjects = runs.map((id) => [id, messageSubject(sqlite, "run.updated", id)] as const);
    t.same(plainSubjects(runSubjects(statements, runs)), plainSubjects(new Map(subjects)), "subjects of runs");
    const names = events.flatMap((id): [number, string][] => {
      const text = single("event", id);
      return text === null ? [] : [[id, (JSON.parse(text) as { name: string }).name]];
    });
    t.same(eventNames(statements, events), new Map(names), "names of events");
  }
  for (const kind of STREAM_KINDS)
    for (const id of kind.startsWith("event") ? events : facts.ids("runs", 20)) {
      const [expected, found] = [sqlite, postgres].map((statements) => messageSubject(statements, kind, id));
      t.equal(JSON.stringify(found), JSON.stringify(expected), `subject of ${kind} ${id}`);
    }
}

/** Without their functions, in the order of the ids. */
function plainSubjects(subjects: ReadonlyMap<number, MessageSubject | null>): string {
  const known = [...subjects].filter(([, subject]) => subject !== null);
  return JSON.stringify(known.sort(([a], [b]) => a - b));
}

t.test("queries and loads of both stores", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const met = new Set<QueryName>();
  for (const seed of SEEDS) {
    const { settings, url } = await emptyDatabase(`queries_${seed}`);
    const connection = await Connection.open(settings);
    await migratePostgres(connection);
    const compare = async (database: Database): Promise<void> => {
      addRows(database);
      await copyToPostgres(database, connection);
      const handle = openPostgresReadHandle(url);
      const [sqlite, postgres] = [new Statements(database), new Statements(handle)];
      const awaited = seed === SEEDS[0] ? new AwaitedQueries(settings) : null;
      await compareQueries(t, sqlite, { postgres, awaited }, met);
      awaited?.close();
      compareLoads(t, sqlite, postgres);
      compareMessages(t, sqlite, postgres);
      handle.close();
    };
    const { violation } = await runSeed({ seed, messages: MESSAGES, mutation: null, echo: null, inspect: compare });
    t.equal(violation, null);
    await connection.close();
  }
  t.same(
    Object.keys(QUERIES).filter((name) => !met.has(name as QueryName)),
    [],
    "each query has answered with something",
  );

  async function emptyDatabase(name: string) {
    const settings = await server.database(name);
    const { host = "", port = 0, user = "" } = settings;
    return { settings, url: `postgres://${user}@/${name}?host=${encodeURIComponent(host)}&port=${port}` };
  }
});
