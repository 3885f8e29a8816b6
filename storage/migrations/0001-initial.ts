/**
 * The first schema.
 *
 * The owner of a table assigns its row ids; `counters` holds the highest id of each table, so an id is never reused after a
 * delete. State types and event names are small codes (storage/schema/codes.ts, table `names`); a state name is NULL when it equals
 * its type; empty JSON ([] and {}) is NULL; external ids of server-made rows are 16 bytes. Indexes over runs are partial:
 * over ended runs for lists, over unfinished runs for the start of the core, so that the moves of an unfinished run touch no
 * index.
 *
 * SQLite only: WITHOUT ROWID (nothing: a table with its primary key), json_extract (a column that the writer fills), BLOB
 * (bytea).
 */
export const name = "initial";

export const sql = `
CREATE TABLE flows (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  module TEXT NOT NULL,
  source_dir TEXT NOT NULL,
  description TEXT,
  flow_group TEXT,
  tags TEXT,
  error TEXT,
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  options TEXT,
  parameter_schema TEXT
);
CREATE UNIQUE INDEX flows_identity ON flows (project, name);

CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  flow_id INTEGER NOT NULL,
  state_type INTEGER NOT NULL,
  state_name TEXT,
  state_timestamp INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  start_time INTEGER,
  end_time INTEGER,
  total_run_time INTEGER,
  scheduled_time INTEGER,
  schedule_id INTEGER,
  backfill_id INTEGER,
  parent_run_id INTEGER,
  priority INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  report_seq INTEGER NOT NULL,
  crash_count INTEGER NOT NULL,
  failure_count INTEGER NOT NULL,
  engine_pid INTEGER,
  assignment_id INTEGER,
  engine_id TEXT,
  other_sequences TEXT,
  created_by TEXT NOT NULL,
  name TEXT NOT NULL,
  tags TEXT,
  state_message TEXT,
  state_details TEXT,
  parameters TEXT
);
CREATE UNIQUE INDEX runs_external ON runs (external_id);
CREATE INDEX runs_unfinished ON runs (flow_id) WHERE end_time IS NULL;
CREATE INDEX runs_ended ON runs (flow_id, state_type) WHERE end_time IS NOT NULL;
CREATE INDEX runs_went_wrong ON runs (end_time) WHERE end_time IS NOT NULL AND state_type IN (4, 6);
CREATE INDEX runs_sub_state ON runs (state_name) WHERE end_time IS NOT NULL AND state_name IS NOT NULL;
CREATE INDEX runs_start ON runs (coalesce(start_time, created_at)) WHERE end_time IS NOT NULL;
CREATE INDEX runs_duration ON runs (total_run_time) WHERE total_run_time IS NOT NULL;
CREATE INDEX runs_no_duration ON runs (total_run_time) WHERE end_time IS NOT NULL AND total_run_time IS NULL;
CREATE INDEX runs_name ON runs (name);
CREATE INDEX runs_scheduled ON runs (scheduled_time) WHERE scheduled_time IS NOT NULL;
-- One run per fire of a schedule; reruns of it have no scheduled time.
CREATE UNIQUE INDEX runs_schedule ON runs (schedule_id, scheduled_time) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_backfill ON runs (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX runs_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

-- Bounds of coalesce(start_time, created_at) of the runs in each stretch of ids; they only widen.
CREATE TABLE run_times (stretch INTEGER PRIMARY KEY, start_min INTEGER NOT NULL, start_max INTEGER NOT NULL);

CREATE TABLE run_tags (
  tag INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  PRIMARY KEY (tag, run_id)
) WITHOUT ROWID;

CREATE TABLE task_runs (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  run_id INTEGER NOT NULL,
  state_type INTEGER NOT NULL,
  state_name TEXT,
  state_timestamp INTEGER NOT NULL,
  start_time INTEGER,
  end_time INTEGER,
  total_run_time INTEGER,
  crash_count INTEGER NOT NULL,
  failure_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  name TEXT NOT NULL,
  task_key TEXT NOT NULL,
  dynamic_key TEXT NOT NULL,
  state_message TEXT,
  parents TEXT,
  state_details TEXT
);
CREATE INDEX task_runs_run ON task_runs (run_id);
CREATE INDEX task_runs_unfinished ON task_runs (state_type) WHERE end_time IS NULL;

CREATE TABLE names (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  name INTEGER NOT NULL,
  occurred INTEGER NOT NULL,
  run_id INTEGER,
  flow_id INTEGER,
  task_run_id INTEGER,
  state_type INTEGER,
  state_name TEXT,
  state_message TEXT,
  resource TEXT,
  related TEXT,
  payload TEXT
);
CREATE INDEX events_run ON events (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX events_resource ON events (json_extract(resource, '$.id')) WHERE resource IS NOT NULL;

-- Which value occurs in which stretch of ids: a coarse index, one row per value and stretch instead of one per row.
CREATE TABLE stretches (
  kind INTEGER NOT NULL,
  value INTEGER NOT NULL,
  stretch INTEGER NOT NULL,
  PRIMARY KEY (kind, value, stretch)
) WITHOUT ROWID;
-- Bounds of the times of each stretch of events, and the newest log line at that moment (for retention).
CREATE TABLE event_times (
  stretch INTEGER PRIMARY KEY,
  occurred_min INTEGER NOT NULL,
  occurred_max INTEGER NOT NULL,
  log_id INTEGER NOT NULL
);

-- Lines of one run from one report; the id is that of the last line, ids inside a block have no gaps.
CREATE TABLE log_blocks (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  count INTEGER NOT NULL,
  level_mask INTEGER NOT NULL,
  lines BLOB NOT NULL
);
CREATE INDEX log_blocks_run ON log_blocks (run_id);

CREATE TABLE artifacts (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  run_id INTEGER NOT NULL,
  task_run_id INTEGER,
  key TEXT,
  kind TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX artifacts_run ON artifacts (run_id);
CREATE INDEX artifacts_task_run ON artifacts (task_run_id) WHERE task_run_id IS NOT NULL;
CREATE INDEX artifacts_key ON artifacts (key) WHERE key IS NOT NULL;
CREATE INDEX artifacts_kind ON artifacts (kind);

CREATE TABLE leases (
  id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  resources TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE TABLE answers (
  run_id INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  value TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_id, ordinal)
) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE engines (
  id TEXT PRIMARY KEY,
  pid INTEGER NOT NULL,
  pid_started INTEGER,
  host TEXT,
  project_key TEXT,
  last_contact INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE reruns (run_id INTEGER PRIMARY KEY, due INTEGER NOT NULL);
CREATE TABLE counts (
  flow_id INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  state_type INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (flow_id, kind, state_type)
) WITHOUT ROWID;

CREATE TABLE variables (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  secret INTEGER NOT NULL,
  tags TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE schedules (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  flow_id INTEGER NOT NULL,
  schedule TEXT NOT NULL,
  catchup TEXT NOT NULL,
  catchup_max INTEGER NOT NULL,
  active INTEGER NOT NULL,
  paused_reason TEXT,
  paused_until INTEGER,
  source TEXT NOT NULL,
  code_key TEXT,
  persist INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  next_fire INTEGER,
  consumed_until INTEGER NOT NULL
);
CREATE INDEX schedules_flow ON schedules (flow_id);
CREATE TABLE skips (
  schedule_id INTEGER NOT NULL,
  fire INTEGER NOT NULL,
  skipped_by TEXT NOT NULL,
  skipped_at INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, fire)
) WITHOUT ROWID;

CREATE TABLE backfills (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  flow_id INTEGER NOT NULL,
  parameter TEXT NOT NULL,
  start_value TEXT NOT NULL,
  end_value TEXT NOT NULL,
  interval_secs REAL NOT NULL,
  concurrency INTEGER NOT NULL,
  total INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  prefiltered INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  extra_parameters TEXT,
  cancelled_through INTEGER
);
CREATE INDEX backfills_flow ON backfills (flow_id);

CREATE TABLE rules (
  id INTEGER PRIMARY KEY,
  external_id BLOB NOT NULL,
  name TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  source TEXT NOT NULL,
  module TEXT,
  spec TEXT NOT NULL,
  fire_count INTEGER NOT NULL,
  last_fired INTEGER,
  since_event INTEGER NOT NULL,
  since_time INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
-- What the guards of a rule must remember over a restart, as JSON.
CREATE TABLE rule_guards (rule_id INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE firings (
  id INTEGER PRIMARY KEY,
  rule_id INTEGER NOT NULL,
  event_id INTEGER,
  run_id INTEGER,
  timestamp INTEGER NOT NULL,
  outcomes TEXT NOT NULL,
  pending TEXT
);
CREATE INDEX firings_pending ON firings (id) WHERE pending IS NOT NULL;
CREATE INDEX firings_rule ON firings (rule_id);
-- Which rules have fired for a run; kept when the firing is too old or the run is deleted, as its events may still be looked at.
CREATE TABLE fired (
  run_id INTEGER NOT NULL,
  rule_id INTEGER NOT NULL,
  PRIMARY KEY (run_id, rule_id)
) WITHOUT ROWID;
CREATE TABLE expectations (
  id INTEGER PRIMARY KEY,
  rule_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  status TEXT NOT NULL,
  armed_at INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  flow_id INTEGER,
  run_id INTEGER
);
CREATE INDEX expectations_rule ON expectations (rule_id);
CREATE INDEX expectations_open ON expectations (deadline) WHERE status = 'open';
-- A message to the outside is a row before it is sent; the hook of a flow belongs to no firing.
CREATE TABLE outbound (
  id INTEGER PRIMARY KEY,
  firing_id INTEGER,
  rule_id INTEGER,
  action INTEGER,
  kind TEXT NOT NULL,
  request TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
-- How long the chain of rules is that made or moved a run.
CREATE TABLE chains (run_id INTEGER PRIMARY KEY, depth INTEGER NOT NULL);
-- The same of events that a rule made, or a client that a rule called.
CREATE TABLE event_chains (event_id INTEGER PRIMARY KEY, depth INTEGER NOT NULL);
-- How far a reader of the events has come.
CREATE TABLE cursors (name TEXT PRIMARY KEY, event_id INTEGER NOT NULL) WITHOUT ROWID;
-- What crashed an actor twice and was passed.
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  actor TEXT NOT NULL,
  subject TEXT NOT NULL,
  error TEXT NOT NULL,
  created_at INTEGER NOT NULL
);

-- What ended, by hour and class of duration (duration-class.ts); an empty task name stands for runs.
CREATE TABLE ended_counts (
  hour INTEGER NOT NULL,
  flow_id INTEGER NOT NULL,
  task_name TEXT NOT NULL,
  state_type INTEGER NOT NULL,
  duration_class INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (hour, flow_id, task_name, state_type, duration_class)
) WITHOUT ROWID;

-- Runs that ended, by quarter of an hour and name of the state, for charts of a day.
CREATE TABLE ended_quarters (
  quarter INTEGER NOT NULL,
  state_name TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (quarter, state_name)
) WITHOUT ROWID;

-- What is known of a value of a fan-in key: the newest run of each upstream, and the run of the downstream itself.
CREATE TABLE fan_in (
  downstream_id INTEGER NOT NULL,
  value TEXT NOT NULL,
  flow_id INTEGER NOT NULL,
  run_id INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  PRIMARY KEY (downstream_id, value, flow_id)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  key TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  status INTEGER NOT NULL,
  body TEXT
) WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

-- The last commits of each source: the number of the last batch, what each batch was answered, and the commands they decided.
CREATE TABLE commits (
  source INTEGER NOT NULL,
  number INTEGER NOT NULL,
  bases TEXT NOT NULL,
  commands TEXT NOT NULL,
  PRIMARY KEY (source, number)
) WITHOUT ROWID;
-- Highest id given so far, by table; "stream" is the highest stream number.
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
`;
