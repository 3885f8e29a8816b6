/**
 * Compares the cost of storage forms of events and log lines. Writes full runs (run insert and 4 updates in 4 commits, 3 task
 * runs, 10 events, 10 log lines) into bare tables in each form and prints CPU per run and bytes per run.
 *
 *   node --conditions=millrace-src test/load/storage-form.ts [--runs 20000] [--rounds 3]
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { deflateRawSync } from "node:zlib";
import { type Database, openDriver, type SqlValue } from "#storage/sqlite/driver";
import { setWriterPragmas } from "#storage/sqlite/pragmas";

type LogForm = "rows" | "json" | "deflated" | "columns";

interface Form {
  label: string;
  /** Events with resource, related and payload as text, or only with what cannot be derived. */
  events: "full" | "lean";
  /** Event names as text or as small codes. */
  names: "text" | "code";
  /** Events per INSERT. */
  eventRows: number;
  logs: LogForm;
  autoincrement: boolean;
  nameIndex: boolean;
  /** Unique index over external ids of runs; of task runs. */
  externalIndex: "none" | "runs" | "both";
  /** Indexes by state, start and name over all runs, or over ended runs only. */
  runIndexes: "all" | "ended";
  /** One index entry per event for flow, name and time, or one per stretch of 256 events. */
  eventIndexes: "rows" | "stretches";
}

const CHOSEN: Form = {
  label: "chosen",
  events: "lean",
  names: "code",
  eventRows: 8,
  logs: "json",
  autoincrement: false,
  nameIndex: true,
  externalIndex: "runs",
  runIndexes: "ended",
  eventIndexes: "stretches",
};

const FORMS: readonly Form[] = [
  CHOSEN,
  { ...CHOSEN, label: "log rows", logs: "rows" },
  { ...CHOSEN, label: "log block deflated", logs: "deflated" },
  { ...CHOSEN, label: "log block as columns", logs: "columns" },
  { ...CHOSEN, label: "full events", events: "full" },
  { ...CHOSEN, label: "event names as text", names: "text" },
  { ...CHOSEN, label: "one event per insert", eventRows: 1 },
  { ...CHOSEN, label: "autoincrement", autoincrement: true },
  { ...CHOSEN, label: "no index by name", nameIndex: false },
  { ...CHOSEN, label: "no index by external id", externalIndex: "none" },
  { ...CHOSEN, label: "external ids of task runs too", externalIndex: "both" },
  { ...CHOSEN, label: "indexes over all runs", runIndexes: "all" },
  { ...CHOSEN, label: "index entries per event", eventIndexes: "rows" },
];

const STAGES = 4;
const EVENT_NAMES = ["run.scheduled", "run.pending", "run.running", "task_run.running", "task_run.completed", "run.completed"];
const EVENTS_AT = [1, 1, 7, 1];
const MESSAGES = ["loaded 1200 rows from the source", "joined with the reference table", "wrote partition 2026-11-20", "done"];
const PARAMETERS = '{"count":1200,"date":"2026-11-20","source":"orders"}';
const RUN_UPDATE = `UPDATE runs SET state_type = ?, state_name = NULL, state_timestamp = ?, start_time = ?, engine_id = ?, report_seq = ?`;

function schema(form: Form): string {
  const id = form.autoincrement ? "id INTEGER PRIMARY KEY AUTOINCREMENT" : "id INTEGER PRIMARY KEY";
  const ended = form.runIndexes === "ended" ? "WHERE end_time IS NOT NULL" : "";
  const own = `
    CREATE TABLE runs (${id}, external_id BLOB, flow_id INTEGER, state_type INTEGER, state_name TEXT, state_timestamp INTEGER,
      created_at INTEGER, start_time INTEGER, end_time INTEGER, total_run_time INTEGER, report_seq INTEGER, engine_id TEXT,
      created_by TEXT, name TEXT, parameters TEXT);
    CREATE INDEX runs_ended ON runs (flow_id, state_type) ${ended};
    CREATE INDEX runs_start ON runs (coalesce(start_time, created_at)) ${ended};
    CREATE INDEX runs_duration ON runs (total_run_time) WHERE total_run_time IS NOT NULL;
    CREATE INDEX runs_unfinished ON runs (flow_id) WHERE end_time IS NULL;
    CREATE TABLE task_runs (${id}, external_id BLOB, run_id INTEGER, state_type INTEGER, state_timestamp INTEGER, start_time INTEGER,
      end_time INTEGER, total_run_time INTEGER, name TEXT, task_key TEXT, dynamic_key TEXT);
    CREATE INDEX task_runs_run ON task_runs (run_id);
    CREATE TABLE events (${id}, name, occurred INTEGER, run_id INTEGER, flow_id INTEGER, task_run_id INTEGER, state_type INTEGER,
      state_message TEXT, resource TEXT, related TEXT, payload TEXT);
    CREATE INDEX events_run ON events (run_id);
    CREATE TABLE stretches (kind INTEGER, value INTEGER, stretch INTEGER, PRIMARY KEY (kind, value, stretch)) WITHOUT ROWID;
    CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;`;
  const logs =
    form.logs === "rows"
      ? `CREATE TABLE logs (${id}, run_id INTEGER, task_run_id INTEGER, level INTEGER, logger TEXT, timestamp INTEGER, message TEXT)`
      : `CREATE TABLE logs (${id}, run_id INTEGER, attempt INTEGER, count INTEGER, level_mask INTEGER, lines, levels, times, messages)`;
  const indexes = [`CREATE INDEX logs_run ON logs (run_id)`];
  if (form.nameIndex) indexes.push("CREATE INDEX runs_name ON runs (name)");
  if (form.externalIndex !== "none") indexes.push("CREATE UNIQUE INDEX runs_external ON runs (external_id)");
  if (form.externalIndex === "both") indexes.push("CREATE UNIQUE INDEX task_runs_external ON task_runs (external_id)");
  if (form.eventIndexes === "rows")
    for (const column of ["flow_id", "name", "occurred"]) indexes.push(`CREATE INDEX events_${column} ON events (${column})`);
  return [own, logs, ...indexes].join(";");
}

interface Line {
  task: number;
  level: number;
  at: number;
  message: string;
}

/** Writes the runs in one form, with the counters of the store writer. */
class FormWriter {
  readonly #form: Form;
  readonly #database: Database;
  readonly #statements = new Map<string, { run(...values: SqlValue[]): unknown }>();
  readonly #seen = new Set<string>();
  #event = 0;
  #log = 0;
  #bound: SqlValue[] = [];

  constructor(database: Database, form: Form) {
    this.#database = database;
    this.#form = form;
  }

  /** Commits one stage of these runs. */
  commit(first: number, count: number, stage: number): void {
    this.#database.exec("BEGIN IMMEDIATE");
    for (let id = first; id < first + count; id++) this.#writeStage(id, stage);
    this.#flushEvents();
    if (!this.#form.autoincrement) {
      for (const [name, value] of [
        ["runs", first],
        ["events", this.#event],
        ["logs", this.#log],
      ] as const)
        this.#run("INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value);
    }
    this.#database.exec("COMMIT");
  }

  #run(sql: string, ...values: SqlValue[]): void {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepareRaw(sql);
      this.#statements.set(sql, statement);
    }
    statement.run(...values);
  }

  #writeStage(id: number, stage: number): void {
    const at = 1_700_000_000_000_000 + id * 1_000 + stage * 250;
    if (stage === 0) {
      const values = [
        id,
        externalId(id, 1),
        1 + (id % 20),
        0,
        at,
        at,
        0,
        "api",
        `orders-${(id * 7_919) % 1_000_003}`,
        PARAMETERS,
      ];
      const columns =
        "id, external_id, flow_id, state_type, state_timestamp, created_at, report_seq, created_by, name, parameters";
      this.#run(`INSERT INTO runs (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, ...values);
      this.#run(`${RUN_UPDATE} WHERE id = ?`, 0, at, null, "engine-1", 0, id);
    } else if (stage < STAGES - 1) this.#run(`${RUN_UPDATE} WHERE id = ?`, stage, at, at, "engine-1", stage, id);
    else {
      const duration = 1_000 + ((id * 104_729) % 900_000);
      this.#run(`${RUN_UPDATE}, end_time = ?, total_run_time = ? WHERE id = ?`, 3, at, at, "engine-1", 9, at, duration, id);
    }
    if (stage === 2) {
      for (let task = 0; task < 3; task++) this.#writeTask(id * 3 + task, id, at);
      this.#writeLogs(id, at);
    }
    for (let index = 0; index < (EVENTS_AT[stage] ?? 0); index++) this.#writeEvent(id, stage + index, at);
  }

  #writeTask(id: number, run: number, at: number): void {
    const values = [id, externalId(id, 2), run, 3, at, at - 900, at, 900, "transform", "tasks.transform", `transform-${id % 3}`];
    this.#run("INSERT INTO task_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ...values);
  }

  #writeEvent(run: number, index: number, at: number): void {
    const id = ++this.#event;
    const code = index % EVENT_NAMES.length;
    const name = this.#form.names === "code" ? code : (EVENT_NAMES[code] ?? "");
    const flow = 1 + (run % 20);
    const full = this.#form.events === "full";
    const resource = full ? `{"id":"01900000-0000-7000-8000-0000000${run}","kind":"run","name":"orders-${run}"}` : null;
    const related = full ? '[{"id":"shop/orders","kind":"flow","name":"orders"}]' : null;
    const payload = full
      ? `{"created_by":"api","flow":"orders","message":null,"parameters":${PARAMETERS},"project":"shop","state":"Running","state_type":"Running"}`
      : null;
    this.#bound.push(id, name, at, run, flow, index > 2 ? run * 3 : null, 2, null, resource, related, payload);
    if (this.#form.eventIndexes === "stretches") this.#note(id >> 8, flow, code);
    if (this.#bound.length === this.#form.eventRows * 11) this.#flushEvents();
  }

  #note(stretch: number, flow: number, code: number): void {
    for (const [kind, value] of [
      [0, flow],
      [1, code],
    ] as const) {
      const key = `${kind}:${value}:${stretch}`;
      if (this.#seen.has(key)) continue;
      if (this.#seen.size > 10_000) this.#seen.clear();
      this.#seen.add(key);
      this.#run("INSERT OR IGNORE INTO stretches VALUES (?, ?, ?)", kind, value, stretch);
    }
  }

  #flushEvents(): void {
    const bound = this.#bound;
    this.#bound = [];
    const row = `(${"?, ".repeat(10)}?)`;
    const full = this.#form.eventRows * 11;
    if (bound.length === full) {
      this.#run(`INSERT INTO events VALUES ${Array(this.#form.eventRows).fill(row).join(", ")}`, ...bound);
      return;
    }
    for (let at = 0; at < bound.length; at += 11) this.#run(`INSERT INTO events VALUES ${row}`, ...bound.slice(at, at + 11));
  }

  #writeLogs(run: number, at: number): void {
    const lines: Line[] = [];
    for (let index = 0; index < 10; index++)
      lines.push({
        task: run * 3 + (index % 3),
        level: index === 9 ? 30 : 20,
        at: at + index,
        message: `${MESSAGES[index % 4]} (${run}/${index})`,
      });
    if (this.#form.logs === "rows") {
      const row = "(?, ?, ?, ?, ?, ?, ?)";
      const values = lines.flatMap((line) => [++this.#log, run, line.task, line.level, "millrace.run", line.at, line.message]);
      this.#run(`INSERT INTO logs VALUES ${Array(10).fill(row).join(", ")}`, ...values);
      return;
    }
    this.#log += 10;
    const insert = "INSERT INTO logs VALUES (?, ?, 0, 10, 12, ?, ?, ?, ?)";
    if (this.#form.logs === "columns") {
      const columns = [lines.map((l) => l.level), lines.map((l) => l.at), lines.map((l) => l.message)].map((c) =>
        JSON.stringify(c),
      );
      this.#run(insert, this.#log, run, JSON.stringify(lines.map((l) => l.task)), ...columns);
      return;
    }
    const text = JSON.stringify(lines.map((line) => [line.task, line.level, "millrace.run", line.at, line.message]));
    const stored = this.#form.logs === "deflated" ? deflateRawSync(text, { level: 1 }) : text;
    this.#run(insert, this.#log, run, stored, null, null, null);
  }
}

function externalId(id: number, family: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(id, 0, 6);
  bytes.writeUInt32BE((id * 2_654_435_761) >>> 0, 8);
  bytes[15] = family;
  return bytes;
}

interface Figure {
  cpuUs: number;
  bytes: number;
}

function measure(folder: string, form: Form, runs: number, perCommit: number): Figure {
  const path = join(folder, "form.sqlite");
  const database = openDriver(path, { readonly: false, busyWaitMs: 1_000 });
  setWriterPragmas(database, "normal");
  database.exec(schema(form));
  const writer = new FormWriter(database, form);
  const before = process.cpuUsage();
  // Four groups are in progress at once, each a commit apart, as with many engines.
  for (let first = 1; first <= runs + perCommit * STAGES; first += perCommit) {
    for (let stage = 0; stage < STAGES; stage++) {
      const from = first - stage * perCommit;
      if (from >= 1 && from + perCommit - 1 <= runs) writer.commit(from, perCommit, stage);
    }
  }
  const used = process.cpuUsage(before);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  const figure = { cpuUs: (used.user + used.system) / runs, bytes: statSync(path).size / runs };
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  return figure;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const { values } = parseArgs({
  options: { runs: { type: "string", default: "20000" }, rounds: { type: "string", default: "3" } },
});
const runs = Number(values.runs);
const folder = mkdtempSync(join(tmpdir(), "storage-form-"));
// One unmeasured pass, so that no form pays for compiling the code.
for (const form of FORMS) measure(folder, form, 640, 64);
const figures = new Map<string, Figure[]>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const form of FORMS)
    for (const perCommit of [16, 64]) {
      const key = `${form.label}|${perCommit}`;
      figures.set(key, [...(figures.get(key) ?? []), measure(folder, form, Math.floor(runs / perCommit) * perCommit, perCommit)]);
    }
}
rmSync(folder, { recursive: true });
console.log("form | CPU us per run, 16 per commit | 64 per commit | bytes per run");
for (const form of FORMS) {
  const [few = [], many = []] = [16, 64].map((perCommit) => figures.get(`${form.label}|${perCommit}`));
  const cpu = [few, many].map((list) => median(list.map((figure) => figure.cpuUs)).toFixed(1));
  console.log(`${form.label} | ${cpu.join(" | ")} | ${median(many.map((figure) => figure.bytes)).toFixed(0)}`);
}
