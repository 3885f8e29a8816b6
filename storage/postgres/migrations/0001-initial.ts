/**
 * The first schema: the tables that SQLite has after its migration 0015, in the form that PostgreSQL updates cheaply (ADR 34).
 *
 * Living and ended runs have a table each. Text is ordered by its bytes. Booleans and state types are smallint, which the binary
 * arrays of columns.ts match.
 */
export const name = "initial";

export const sql = `
CREATE TABLE flows (
  id bigint,
  external_id bytea NOT NULL,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  module text COLLATE "C" NOT NULL,
  source_dir text COLLATE "C" NOT NULL,
  description text COLLATE "C",
  flow_group text COLLATE "C",
  tags text COLLATE "C",
  error text COLLATE "C",
  created_at bigint NOT NULL,
  last_seen_at bigint NOT NULL,
  options text COLLATE "C",
  parameter_schema text COLLATE "C",
  schedule_error text COLLATE "C",
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX flows_identity ON flows (project, name);
-- Living runs: no index has a column that changes, so every move is a HOT update. Their rows move to runs when the runs end.
CREATE TABLE live_runs (
  id bigint,
  external_id bytea NOT NULL,
  flow_id bigint NOT NULL,
  state_type smallint NOT NULL,
  state_name text COLLATE "C",
  state_timestamp bigint NOT NULL,
  created_at bigint NOT NULL,
  start_time bigint,
  end_time bigint,
  total_run_time bigint,
  scheduled_time bigint,
  schedule_id bigint,
  backfill_id bigint,
  parent_run_id bigint,
  priority bigint NOT NULL,
  attempt bigint NOT NULL,
  report_seq bigint NOT NULL,
  crash_count bigint NOT NULL,
  failure_count bigint NOT NULL,
  engine_pid bigint,
  assignment_id bigint,
  engine_id text COLLATE "C",
  other_sequences text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  tags text COLLATE "C",
  state_message text COLLATE "C",
  state_details text COLLATE "C",
  parameters text COLLATE "C",
  reruns bigint NOT NULL DEFAULT 0,
  state_received bigint,
  task_counts text COLLATE "C",
  assigned smallint NOT NULL DEFAULT 0,
  alone smallint NOT NULL DEFAULT 0,
  uncounted smallint NOT NULL DEFAULT 0,
  lineage_id bigint,
  caller_run_id bigint,
  fire_time bigint,
  marks text COLLATE "C",
  traceparent text COLLATE "C",
  PRIMARY KEY (id)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX live_runs_external ON live_runs (external_id);
CREATE UNIQUE INDEX live_runs_schedule ON live_runs (schedule_id, scheduled_time) WHERE schedule_id IS NOT NULL;
CREATE INDEX live_runs_backfill ON live_runs (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX live_runs_parent ON live_runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX live_runs_lineage ON live_runs (lineage_id) WHERE lineage_id IS NOT NULL;

-- Ended runs. An engine reports once more after the end of its run: room for that row beside the first.
CREATE TABLE ended_runs (LIKE live_runs INCLUDING DEFAULTS, PRIMARY KEY (id)) WITH (fillfactor = 50);
CREATE UNIQUE INDEX runs_external ON ended_runs (external_id);
CREATE INDEX runs_ended ON ended_runs (flow_id, state_type, id);
CREATE INDEX runs_went_wrong ON ended_runs (end_time) WHERE state_type IN (4, 6);
CREATE INDEX runs_sub_state ON ended_runs (state_name, id) WHERE state_name IS NOT NULL;
CREATE INDEX runs_start ON ended_runs ((coalesce(start_time, created_at)), id);
CREATE INDEX runs_duration ON ended_runs (total_run_time, id) WHERE total_run_time IS NOT NULL;
CREATE INDEX runs_no_duration ON ended_runs (id) WHERE total_run_time IS NULL;
CREATE INDEX runs_name ON ended_runs (name, id);
CREATE INDEX runs_scheduled ON ended_runs (scheduled_time, id) WHERE scheduled_time IS NOT NULL;
CREATE UNIQUE INDEX runs_schedule ON ended_runs (schedule_id, scheduled_time) WHERE schedule_id IS NOT NULL;
CREATE INDEX runs_backfill ON ended_runs (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX runs_parent ON ended_runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX runs_end ON ended_runs (end_time, id);
CREATE INDEX runs_received ON ended_runs (state_received) WHERE state_received IS NOT NULL;
CREATE INDEX runs_lineage ON ended_runs (lineage_id) WHERE lineage_id IS NOT NULL;
-- All runs, for queries; the writer names the tables.
CREATE VIEW runs AS SELECT * FROM live_runs UNION ALL SELECT * FROM ended_runs;

CREATE TABLE run_times (
  stretch bigint,
  start_min bigint NOT NULL,
  start_max bigint NOT NULL,
  PRIMARY KEY (stretch)
) WITH (fillfactor = 50);
CREATE TABLE run_tags (
  tag bigint,
  run_id bigint,
  PRIMARY KEY (tag, run_id)
);
CREATE TABLE task_runs (
  id bigint,
  external_id bytea NOT NULL,
  run_id bigint NOT NULL,
  state_type smallint NOT NULL,
  state_name text COLLATE "C",
  state_timestamp bigint NOT NULL,
  start_time bigint,
  end_time bigint,
  total_run_time bigint,
  crash_count bigint NOT NULL,
  failure_count bigint NOT NULL,
  created_at bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  task_key text COLLATE "C" NOT NULL,
  dynamic_key text COLLATE "C" NOT NULL,
  state_message text COLLATE "C",
  parents text COLLATE "C",
  state_details text COLLATE "C",
  PRIMARY KEY (id)
);
CREATE INDEX task_runs_run ON task_runs (run_id, id);
CREATE INDEX task_runs_unfinished ON task_runs (id) WHERE end_time IS NULL;
CREATE TABLE names (
  id bigint,
  name text COLLATE "C" NOT NULL,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX names_name ON names (name);
CREATE TABLE events (
  id bigint,
  name bigint NOT NULL,
  occurred bigint NOT NULL,
  run_id bigint,
  flow_id bigint,
  task_run_id bigint,
  state_type smallint,
  state_name text COLLATE "C",
  state_message text COLLATE "C",
  resource text COLLATE "C",
  related text COLLATE "C",
  payload text COLLATE "C",
  -- Of events that have a resource of their own.
  resource_kind text COLLATE "C",
  resource_id text COLLATE "C",
  PRIMARY KEY (id)
);
CREATE INDEX events_run ON events (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX events_resource ON events (resource_id) WHERE resource_id IS NOT NULL;
CREATE TABLE stretches (
  kind bigint,
  value bigint,
  stretch bigint,
  PRIMARY KEY (kind, value, stretch)
);
CREATE TABLE event_times (
  stretch bigint,
  occurred_min bigint NOT NULL,
  occurred_max bigint NOT NULL,
  log_id bigint NOT NULL,
  received_max bigint,
  PRIMARY KEY (stretch)
) WITH (fillfactor = 50);
CREATE TABLE log_blocks (
  id bigint,
  run_id bigint NOT NULL,
  attempt bigint NOT NULL,
  count bigint NOT NULL,
  level_mask bigint NOT NULL,
  -- Whether the lines are deflated.
  packed smallint NOT NULL,
  lines bytea NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX log_blocks_run ON log_blocks (run_id, id);
CREATE TABLE artifacts (
  id bigint,
  external_id bytea NOT NULL,
  run_id bigint NOT NULL,
  task_run_id bigint,
  key text COLLATE "C",
  kind text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  data text COLLATE "C" NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX artifacts_run ON artifacts (run_id);
CREATE INDEX artifacts_task_run ON artifacts (task_run_id) WHERE task_run_id IS NOT NULL;
CREATE INDEX artifacts_key ON artifacts (key) WHERE key IS NOT NULL;
CREATE INDEX artifacts_kind ON artifacts (kind);
CREATE TABLE leases (
  id bigint,
  run_id bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  resources text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE answers (
  run_id bigint,
  ordinal bigint,
  value text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (run_id, ordinal)
);
CREATE TABLE settings (
  name text COLLATE "C",
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (name)
);
CREATE TABLE engines (
  id text COLLATE "C",
  pid bigint NOT NULL,
  pid_started bigint,
  host text COLLATE "C",
  project_key text COLLATE "C",
  last_contact bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE reruns (
  run_id bigint,
  due bigint NOT NULL,
  PRIMARY KEY (run_id)
);
CREATE TABLE counts (
  flow_id bigint,
  kind bigint,
  state_type smallint,
  count bigint NOT NULL,
  PRIMARY KEY (flow_id, kind, state_type)
) WITH (fillfactor = 50);
CREATE TABLE variables (
  name text COLLATE "C",
  value text COLLATE "C" NOT NULL,
  secret smallint NOT NULL,
  tags text COLLATE "C",
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (name)
);
CREATE TABLE schedules (
  id bigint,
  external_id bytea NOT NULL,
  flow_id bigint NOT NULL,
  schedule text COLLATE "C" NOT NULL,
  catchup text COLLATE "C" NOT NULL,
  catchup_max bigint NOT NULL,
  active smallint NOT NULL,
  paused_reason text COLLATE "C",
  paused_until bigint,
  source text COLLATE "C" NOT NULL,
  code_key text COLLATE "C",
  persist smallint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  next_fire bigint,
  consumed_until bigint NOT NULL,
  parameters text COLLATE "C",
  PRIMARY KEY (id)
);
CREATE INDEX schedules_flow ON schedules (flow_id);
CREATE TABLE skips (
  schedule_id bigint,
  fire bigint,
  skipped_by text COLLATE "C" NOT NULL,
  skipped_at bigint NOT NULL,
  PRIMARY KEY (schedule_id, fire)
);
CREATE TABLE backfills (
  id bigint,
  external_id bytea NOT NULL,
  flow_id bigint NOT NULL,
  parameter text COLLATE "C" NOT NULL,
  start_value text COLLATE "C" NOT NULL,
  end_value text COLLATE "C" NOT NULL,
  interval_secs double precision NOT NULL,
  concurrency bigint NOT NULL,
  total bigint NOT NULL,
  cancelled smallint NOT NULL,
  prefiltered smallint NOT NULL,
  created_at bigint NOT NULL,
  extra_parameters text COLLATE "C",
  cancelled_through bigint,
  PRIMARY KEY (id)
);
CREATE INDEX backfills_flow ON backfills (flow_id);
CREATE TABLE rules (
  id bigint,
  external_id bytea NOT NULL,
  name text COLLATE "C" NOT NULL,
  enabled smallint NOT NULL,
  source text COLLATE "C" NOT NULL,
  module text COLLATE "C",
  spec text COLLATE "C" NOT NULL,
  fire_count bigint NOT NULL,
  last_fired bigint,
  since_event bigint NOT NULL,
  since_time bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE rule_guards (
  rule_id bigint,
  state text COLLATE "C" NOT NULL,
  PRIMARY KEY (rule_id)
);
CREATE TABLE firings (
  id bigint,
  rule_id bigint NOT NULL,
  event_id bigint,
  run_id bigint,
  timestamp bigint NOT NULL,
  outcomes text COLLATE "C" NOT NULL,
  pending text COLLATE "C",
  PRIMARY KEY (id)
);
CREATE INDEX firings_pending ON firings (id) WHERE pending IS NOT NULL;
CREATE INDEX firings_rule ON firings (rule_id);
CREATE TABLE fired (
  run_id bigint,
  rule_id bigint,
  PRIMARY KEY (run_id, rule_id)
);
CREATE TABLE expectations (
  id bigint,
  rule_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  armed_at bigint NOT NULL,
  deadline bigint NOT NULL,
  flow_id bigint,
  run_id bigint,
  PRIMARY KEY (id)
);
CREATE INDEX expectations_rule ON expectations (rule_id);
CREATE INDEX expectations_open ON expectations (deadline) WHERE status = 'open';
CREATE TABLE outbound (
  id bigint,
  firing_id bigint,
  rule_id bigint,
  action bigint,
  kind text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE chains (
  run_id bigint,
  depth bigint NOT NULL,
  PRIMARY KEY (run_id)
);
CREATE TABLE event_chains (
  event_id bigint,
  depth bigint NOT NULL,
  PRIMARY KEY (event_id)
);
CREATE TABLE cursors (
  name text COLLATE "C",
  event_id bigint NOT NULL,
  PRIMARY KEY (name)
) WITH (fillfactor = 50);
CREATE TABLE quarantine (
  id bigint GENERATED ALWAYS AS IDENTITY,
  actor text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  error text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE ended_counts (
  hour bigint,
  flow_id bigint,
  task_name text COLLATE "C",
  state_type smallint,
  duration_class bigint,
  count bigint NOT NULL,
  PRIMARY KEY (hour, flow_id, task_name, state_type, duration_class)
) WITH (fillfactor = 50);
CREATE TABLE ended_quarters (
  quarter bigint,
  state_name text COLLATE "C",
  count bigint NOT NULL,
  PRIMARY KEY (quarter, state_name)
) WITH (fillfactor = 50);
CREATE TABLE fan_in (
  downstream_id bigint,
  value text COLLATE "C",
  flow_id bigint,
  run_id bigint NOT NULL,
  completed smallint NOT NULL,
  PRIMARY KEY (downstream_id, value, flow_id)
);
CREATE TABLE idempotency (
  key text COLLATE "C",
  created_at bigint NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  status bigint NOT NULL,
  body text COLLATE "C",
  PRIMARY KEY (key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);
CREATE TABLE clock (
  id bigint CHECK (id = 1),
  boot text COLLATE "C" NOT NULL,
  boot_time bigint NOT NULL,
  wall_time bigint NOT NULL,
  ahead bigint NOT NULL,
  trusted_ahead bigint NOT NULL,
  step bigint,
  stepped_at bigint,
  waited bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE TABLE steps (
  id bigint GENERATED ALWAYS AS IDENTITY,
  lineage_id bigint NOT NULL,
  identity bytea NOT NULL,
  place bytea NOT NULL,
  name text COLLATE "C" NOT NULL,
  run_id bigint NOT NULL,
  task_run_id bigint,
  value text COLLATE "C",
  file bytea,
  bytes bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX steps_identity ON steps (lineage_id, identity);
CREATE INDEX steps_file ON steps (file) WHERE file IS NOT NULL;
CREATE TABLE waits (
  id bigint,
  lineage_id bigint NOT NULL,
  identity bytea NOT NULL,
  place bytea NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  spec text COLLATE "C",
  due bigint,
  child_lineage_id bigint,
  token_hash bytea,
  created_at bigint NOT NULL,
  settled_at bigint,
  outcome text COLLATE "C",
  event_id bigint,
  PRIMARY KEY (id)
);
CREATE UNIQUE INDEX waits_identity ON waits (lineage_id, identity);
CREATE UNIQUE INDEX waits_token ON waits (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX waits_open ON waits (lineage_id, due, kind) WHERE settled_at IS NULL;
CREATE TABLE lineages (
  id bigint,
  origin_id bigint,
  before_task bigint,
  before_time bigint,
  depth bigint NOT NULL,
  caller_wait bigint,
  on_parent_end text COLLATE "C",
  PRIMARY KEY (id)
);
CREATE INDEX lineages_origin ON lineages (origin_id) WHERE origin_id IS NOT NULL;
CREATE TABLE parks (
  run_id bigint,
  parked smallint NOT NULL,
  wake_at bigint,
  waits text COLLATE "C",
  holds smallint NOT NULL,
  ran bigint NOT NULL,
  progress text COLLATE "C",
  PRIMARY KEY (run_id)
);

-- The process that writes: its epoch rises each time the store is opened for writing. number, result and commands are those of
-- the newest commit: its number, what it was answered, and the commands it decided. counters: the highest id given so far, in the
-- order of COUNTED (storage/schema/codes.ts); an id that is missing at the end is 0.
CREATE TABLE members (
  member bigint,
  epoch bigint NOT NULL,
  number bigint NOT NULL,
  counters bigint[] NOT NULL,
  result text COLLATE "C" NOT NULL,
  commands text COLLATE "C" NOT NULL,
  PRIMARY KEY (member)
) WITH (fillfactor = 10);
INSERT INTO members (member, epoch, number, counters, result, commands) VALUES (1, 0, 0, '{}', '[0,0]', '[]');
`;
