/** A store with one row of everything, and the damages that the doctor must find in it. */
import type { Primitive } from "#protocol/wire/feed";
import type { SecretBox } from "#storage/home/secret-box";
import type { Finding } from "#storage/invariants/invariant";
import type { LogLine } from "#storage/schema/log-blocks";
import { putOperation, type RowOf } from "#storage/write/ops";
import {
  backfillRow,
  eventRow,
  openStore,
  putFlow,
  putRun,
  putRunEvent,
  putTaskRun,
  type RunSpec,
  request,
  type Store,
} from "./storage-rows.ts";

export const SECRET = "correct horse battery";
const END = 9;

function runOf(id: number, more: Partial<RunSpec> = {}): RunSpec {
  const plain = { id, flow: 1, name: `run-${id}`, type: "Completed", stateName: "Completed", created: 1 } as const;
  return { ...plain, tags: [], start: 2, end: END, scheduled: null, schedule: null, backfill: null, ...more };
}

/** A store with one row of everything, as the core would store it. */
export function soundStore(box: SecretBox): Store {
  const store = openStore();
  const ops: Primitive[] = [];
  const line: LogLine = [null, 20, "l", 3, "a line"];
  putFlow(ops, 1, "shop", "orders", '{"max_concurrent":2}');
  putRun(ops, runOf(1, { taskCounts: { Completed: 1 } }));
  putRun(ops, runOf(2, { schedule: 1, scheduled: 5 }));
  putRun(ops, runOf(3, { type: "Scheduled", stateName: "Scheduled", start: null, end: null, backfill: 1 }));
  putTaskRun(ops, 1, 1, "Completed", "Completed");
  for (const run of [1, 2]) putRunEvent(ops, "run.completed", run, 1, "Completed", 1);
  putRunEvent(ops, "run.scheduled", 3, 1, "Scheduled", 1);
  putOperation(ops, "count_runs", { flow_id: 1, state_type: "Completed", delta: 2 });
  putOperation(ops, "count_runs", { flow_id: 1, state_type: "Scheduled", delta: 1 });
  putOperation(ops, "count_task_runs", { flow_id: 1, state_type: "Completed", delta: 1 });
  const resources = '{"flow:shop/orders":1,"backfill:1":1,"gpu":1}';
  putOperation(ops, "insert_lease", { id: 1, run_id: 3, kind: "explicit", resources, created_at: 1 });
  putOperation(ops, "put_backfill", backfillRow(1, { external_id: "0190000f-0000-7000-8000-000000000001", total: 1 }));
  putRule(ops);
  putParked(ops, 3);
  putOperation(ops, "insert_event", givenEvent("expectation.met", 3, 1, '{"id":1,"rule_id":1}'));
  putOperation(ops, "put_skip", { schedule_id: 1, fire: 6, skipped_by: "api", skipped_at: 1 });
  const value = box.seal(JSON.stringify({ text: SECRET }));
  putOperation(ops, "put_variable", { name: "password", value, secret: 1, tags: null, created_at: 1, updated_at: 1 });
  store.writer.commit(request(store.writer, 1, { ops, logs: [1, 0, 1, 4, JSON.stringify([line])] }));
  store.database.exec("UPDATE runs SET created_by = 'backfill:1' WHERE id = 3");
  return store;
}

/** What a durable run has that sleeps. */
function putParked(ops: Primitive[], run: number): void {
  const [identity, place] = ["01".repeat(16), "02".repeat(16)];
  const about = { lineage_id: run, identity, place, name: "n", created_at: 1 };
  putOperation(ops, "set_lineage", { id: run, lineage_id: run, caller_run_id: null });
  putOperation(ops, "insert_step", { ...about, run_id: run, task_run_id: null, value: "1", file: null, bytes: 1 });
  const open = { spec: null, due: 9, child_lineage_id: null, token_hash: null, settled_at: null, outcome: null, event_id: null };
  putOperation(ops, "put_wait", { id: 1, ...about, ...open, kind: "sleep" });
  putOperation(ops, "put_park", { run_id: run, parked: 1, wake_at: null, waits: "[1]", holds: 1, ran: 0, progress: null });
}

/** A rule that fired and whose expectation was met, for run 1. */
function putRule(ops: Primitive[]): void {
  putOperation(ops, "put_rule", {
    id: 1,
    external_id: "0190000f-0000-7000-8000-000000000002",
    name: "r",
    enabled: 1,
    source: "ui",
    module: null,
    spec: '{"once":"per_run"}',
    fire_count: 1,
    last_fired: 5,
    since_event: 0,
    since_time: 0,
    created_at: 1,
    updated_at: 1,
  });
  const about = { id: 1, rule_id: 1, run_id: 1 };
  putOperation(ops, "put_firing", { ...about, event_id: 1, timestamp: 5, outcomes: "[]", pending: null });
  const expectation = { ...about, key: "run:1", armed_at: 1, deadline: 2, flow_id: 1 };
  putOperation(ops, "put_expectation", { ...expectation, status: "met" });
}

export function givenEvent(name: string, occurred: number, run: number, payload: string): RowOf<"insert_event"> {
  return eventRow(name, occurred, { run_id: run, flow_id: 1, resource: "{}", related: "[]", payload });
}

/** Damages, by the invariant that must detect them. */
export const DAMAGES: readonly [id: string, sql: string, text: RegExp, level?: Finding["level"]][] = [
  ["I1", "DELETE FROM flows", /run 1 belongs to flow 1, which is not there/],
  ["I1", "UPDATE task_runs SET run_id = 77", /task run 1 belongs to run 77/],
  ["I1", "UPDATE counts SET count = 5 WHERE kind = 0", /flow 1 is said to have 5 runs in state Completed, there are 2/],
  ["I1", "DELETE FROM counts WHERE kind = 1", /flow 1 is said to have 0 task runs in state Completed, there are 1/],
  ["I1", "UPDATE runs SET task_counts = NULL", /run 1 has task runs in other states than its counts say/],
  ["I1", `UPDATE runs SET task_counts = '{"Failed":1}' WHERE id = 2`, /run 2 has task runs in other states/],
  ["I1", "UPDATE counters SET value = 2 WHERE name = 'runs'", /runs has id 3, but only 2 were given/],
  ["I2", "UPDATE runs SET state_type = 4 WHERE id = 1", /run 1 is Failed, but its newest event says Completed/],
  ["I2", "UPDATE runs SET end_time = NULL WHERE id = 2", /run 2 is Completed and has no end time/],
  [
    "I3",
    "UPDATE runs SET assignment_id = 8, assigned = 1, engine_id = 'e' WHERE id = 1",
    /run 1 is Completed and still assigned \(8\)/,
  ],
  ["I3", "UPDATE leases SET run_id = 1", /lease 1 is held by run 1, which is Completed/],
  ["I3", "UPDATE runs SET assignment_id = 8", /assignment 8 was given to runs 1, 2, 3/],
  ["I4", "UPDATE leases SET resources = '{\"backfill:1\":2}'", /2 of backfill:1 are in use, there are 1/],
  ["I4", "UPDATE leases SET resources = '{\"flow:shop/orders\":3}'", /3 of flow:shop\/orders .* lowered after that/, "unusual"],
  [
    "I5",
    "UPDATE skips SET fire = 5; UPDATE runs SET engine_id = 'e' WHERE id = 2",
    /run 2 started although its fire of schedule 1 is skipped/,
  ],
  [
    "I5",
    "DROP INDEX runs_schedule; UPDATE runs SET schedule_id = 1, scheduled_time = 5",
    /schedule 1 has 3 runs for the fire at 5/,
  ],
  ["I6", "DELETE FROM events WHERE id = 2", /1 events are missing among those from 0 to 255/],
  ["I8", "UPDATE backfills SET total = 0", /backfill 1 should have 0 runs, there are 1/],
  ["I10", "INSERT INTO firings VALUES (2, 1, 2, 1, 6, '[]', NULL)", /rule 1 fired more than once for run 1/],
  ["I11", "UPDATE expectations SET status = 'gone'", /expectation 1 has the status "gone"/],
  ["I11", "UPDATE expectations SET status = 'lapsed'", /expectation 1 is lapsed, its events say met/],
  ["I13", "UPDATE runs SET assigned = 1 WHERE id = 3", /run 3 is parked, but has ended or is with an engine/],
  ["I13", "DELETE FROM parks; UPDATE runs SET state_name = 'Sleeping' WHERE id = 3", /run 3 is Sleeping and not parked/],
  ["I13", "UPDATE waits SET settled_at = 5", /run 3 is parked for wait 1, which is not open/],
  ["I13", "UPDATE runs SET lineage_id = 9 WHERE id = 3", /wait 1 is open, but lineage 3 has ended/],
  ["I13", "UPDATE waits SET child_lineage_id = 9", /wait 1 is open, but its child of lineage 9 has ended/],
  ["I13", "UPDATE steps SET lineage_id = 9", /steps of lineage 9 belong to no run/],
  ["I14", "UPDATE runs SET marks = 'd@5m1s@6' WHERE id = 1", /the course of run 1 has no end/],
  ["I14", "UPDATE runs SET marks = 'd@5e1m2f@9' WHERE id = 1", /the course of run 1 has f after m/],
  ["I14", "UPDATE runs SET marks = 'm5s@6' WHERE id = 1", /the course of run 1 does not begin with its creation/],
  ["rules", "INSERT INTO quarantine VALUES (1, 'rules', 'event 4', 'boom', 1)", /rules failed twice at event 4.*boom/, "unusual"],
];
