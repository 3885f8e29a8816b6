/** GET /metrics: its forms, its bound on series, and what many scrapers at once cost. */
import { readFileSync } from "node:fs";
import t from "tap";
import { ServerMetrics } from "#gateway/metrics/server-metrics";
import { METRIC_ENGINES_MAX, METRIC_FLOWS_MAX } from "#protocol/limits";
import { STATE_TYPES } from "#protocol/records/state";
import { checkCustomRoute } from "#protocol/routes/custom-route";
import type { CoreFigures, DurationFigures } from "#protocol/wire/figures";
import { Durations } from "#runtime/durations";
import { StubServer } from "../support/gateway-stub.ts";

const SERIES_MAX = 2_000;
const ACTOR = {
  name: "dispatcher",
  state: "running" as const,
  mailbox_depth: 3,
  handled: 70,
  restarts: 2,
  dropped: 0,
  step_us: 1_500_000,
  step_max_us: 10,
  stalls: 1,
  last_stall: null,
  last_error: null,
};

const MEMORY = { heap_used_bytes: 5, heap_size_bytes: 7, heap_limit_bytes: 100, external_bytes: 3 };

function durations(...us: number[]): DurationFigures {
  const counted = new Durations();
  for (const each of us) counted.add(each);
  return counted.figures();
}

function figures(changes: Partial<CoreFigures> = {}): CoreFigures {
  return {
    queue: { ready: 5, blocked: 4, behind: 3, future: 2, held: 1 },
    resources: [{ name: "disk", total: 8, used: 2.5 }],
    engines: { count: 3, busy: 1, runs: 2 },
    engine_slots: [
      { engine: "e1", busy: 2, free: 4 },
      { engine: "other", busy: 0, free: 5 },
    ],
    polls: { count: 2, slots: 9 },
    spans: { exported: 40, dropped: 3 },
    queue_wait: durations(50, 200, 200, 7_200e6),
    dispatch: durations(),
    lateness: durations(),
    commit: durations(1_000),
    actors: [ACTOR],
    threads: [
      { thread: "core", ...MEMORY, loop_delay: durations(0, 300) },
      { thread: "readers", ...MEMORY, loop_delay: null },
    ],
    database_bytes: 4096,
    wal_bytes: 512,
    flows: [],
    ...changes,
  };
}

function seriesOf(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]));
}

t.test("the answer has what core and gateway know, in the form that Accept names", async (t) => {
  const server = await new StubServer({ decide: () => ({ status: 200, body: figures() }) }).start();
  t.teardown(() => server.stop());
  const plain = await server.send("GET", "/metrics");
  t.equal(plain.status, 200);
  t.match(plain.headers["content-type"], "text/plain; version=0.0.4");
  const series = seriesOf(plain.text);
  for (const [name, value] of [
    ['millrace_queue_runs{reason="engine"}', 5],
    ['millrace_queue_runs{reason="held"}', 1],
    ['millrace_resource_used{resource="disk"}', 2.5],
    ['millrace_engines{state="idle"}', 2],
    ["millrace_free_slots", 9],
    ['millrace_actor_restarts_total{actor="dispatcher"}', 2],
    ['millrace_actor_step_seconds_total{actor="dispatcher"}', 1.5],
    ["millrace_database_bytes", 4096],
    ["millrace_stream_readers", 0],
    ["millrace_stream_bytes_total", 0],
    ["millrace_stream_gaps_total", 0],
    ['millrace_engine_slots{engine="e1",use="free"}', 4],
    ['millrace_engine_slots{engine="other",use="free"}', 5],
    ['millrace_queue_wait_seconds_bucket{le="0.0001"}', 1],
    ['millrace_queue_wait_seconds_bucket{le="0.00025"}', 3],
    ['millrace_queue_wait_seconds_bucket{le="3600"}', 3],
    ['millrace_queue_wait_seconds_bucket{le="+Inf"}', 4],
    ["millrace_queue_wait_seconds_count", 4],
    ["millrace_queue_wait_seconds_sum", 7200.00045],
    ["millrace_dispatch_seconds_count", 0],
    ["millrace_commit_seconds_sum", 0.001],
    ['millrace_event_loop_delay_seconds_count{thread="core"}', 2],
    ['millrace_heap_used_bytes{thread="readers"}', 5],
    ['millrace_heap_limit_bytes{thread="core"}', 100],
  ] as const)
    t.equal(series.get(name), value, name);
  t.ok((series.get("millrace_resident_memory_bytes") ?? 0) > 0);
  const again = seriesOf((await server.send("GET", "/metrics")).text);
  t.equal(again.get('millrace_actor_restarts_total{actor="dispatcher"}'), 2, "totals are not added up over scrapes");
  const open = await server.send("GET", "/metrics", { headers: { accept: "application/openmetrics-text;version=1.0.0" } });
  t.match(open.headers["content-type"], "application/openmetrics-text");
  t.match(open.text, /# EOF\n$/);
  t.equal(seriesOf(open.text).get('millrace_actor_restarts_total{actor="dispatcher"}'), 2);
  const plainAgain = seriesOf((await server.send("GET", "/metrics")).text);
  t.equal(plainAgain.get('millrace_actor_restarts_total{actor="dispatcher"}'), 2, "the other form changes no name");
  t.same(server.defects, []);
});

t.test("scrapers at the same time share one question to the core", async (t) => {
  let questions = 0;
  const server = await new StubServer({
    decide: () => {
      questions += 1;
      return questions === 1 ? null : { status: 200, body: figures() };
    },
  }).start();
  t.teardown(() => server.stop());
  const forms = ["text/plain", "application/openmetrics-text"];
  const scrapes = Array.from({ length: 10 }, (_, index) =>
    server.send("GET", "/metrics", { headers: { accept: forms[index % 2] ?? "" } }),
  );
  // The first question stays open until further requests have been answered, so that the scrapers meet it.
  while (questions === 0) await server.send("GET", "/api/health");
  for (let round = 0; round < 5; round += 1) await server.send("GET", "/api/health");
  server.answer(server.commands[0]?.id ?? 0, 200, figures());
  const answers = await Promise.all(scrapes);
  t.ok(questions < scrapes.length, `${questions} questions`);
  for (const [index, { headers, status }] of answers.entries()) {
    t.equal(status, 200);
    t.match(headers["content-type"], forms[index % 2]);
  }
});

t.test("a refusal of the core reaches the scraper", async (t) => {
  const server = await new StubServer({ decide: () => ({ status: 503, body: { error: "busy" } }) }).start();
  t.teardown(() => server.stop());
  const answer = await server.send("GET", "/metrics");
  t.equal(answer.status, 503);
  t.same(JSON.parse(answer.text), { error: "busy" });
});

t.test("flows and resources beyond the bound are summed as other", async (t) => {
  const ids = Array.from({ length: 3 * METRIC_FLOWS_MAX }, (_, index) => index + 1);
  const each = Object.fromEntries(STATE_TYPES.map((state) => [state, 2]));
  const { body } = await new ServerMetrics(false).text(
    figures({
      flows: ids.slice(0, METRIC_FLOWS_MAX).map((id) => [id, "p", `f${id}`]),
      resources: ids.map((id) => ({ name: `r${id}`, total: 1, used: 0 })),
      actors: Array.from({ length: 20 }, (_, index) => ({ ...ACTOR, name: `a${index}` })),
      engine_slots: ids.slice(0, METRIC_ENGINES_MAX + 1).map((id) => ({ engine: `e${id}`, busy: 1, free: 1 })),
      threads: ["main", "core", "writer", "gateway"].map((thread) => ({ thread, ...MEMORY, loop_delay: durations(1) })),
    }),
    {
      runs: Object.fromEntries(STATE_TYPES.map((state) => [state, 2 * ids.length])),
      flows: Object.fromEntries(ids.map((id) => [id, each])),
    },
    {
      streamReaders: 0,
      stream: { bytes: 70, gaps: 2 },
      requests: 0,
      runWaits: 0,
      acknowledgement: durations(1),
      residentBytes: 1,
    },
  );
  const series = seriesOf(body);
  t.ok(series.size <= SERIES_MAX, `${series.size} series`);
  t.equal(series.get('millrace_runs{project="other",flow="other",state="Failed"}'), 2 * (ids.length - METRIC_FLOWS_MAX));
  t.equal(series.get('millrace_runs{project="p",flow="f1",state="Failed"}'), 2);
  t.equal(series.get('millrace_resource_capacity{resource="other"}'), ids.length - 100);
});

t.test("user code cannot take the path", async (t) => {
  t.match(checkCustomRoute("GET", "/metrics"), /belongs to the server/);
});

t.test("the dashboard for Grafana asks for metrics that the server has", async (t) => {
  const server = await new StubServer({ decide: () => ({ status: 200, body: figures() }) }).start();
  t.teardown(() => server.stop());
  const { text } = await server.send("GET", "/metrics");
  const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  const dashboard = readFileSync(new URL("../../docs/monitoring/grafana-dashboard.json", import.meta.url), "utf8");
  const namesIn = (said: string) => new Set(said.match(/\bmillrace_\w+/g)?.map((name) => name.replace(/_bucket$/, "")));
  const asked = namesIn(dashboard);
  t.ok(asked.size >= 15);
  t.same(
    [...asked].filter((name) => !known.has(name)),
    [],
  );
  const guide = readFileSync(new URL("../../docs/guides/monitoring.md", import.meta.url), "utf8");
  t.same(
    [...namesIn(guide)].filter((name) => !known.has(name)),
    [],
    "the guide",
  );
});
