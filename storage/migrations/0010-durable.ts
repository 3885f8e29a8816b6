/**
 * Durable runs. Steps and waits belong to a lineage, whose id is that of its first run. `runs.lineage_id` is null for a run that
 * is neither durable nor a child, `runs.caller_run_id` for a run that is no child.
 *
 * A step is the result of a task, in `value` as the engine wrote it, or in a file of the home. A wait is open until `settled_at`
 * is set; a settled wait without an outcome ended with its lineage. A lineage has a row if it was forked (it sees what its
 * origin had before a task run) or called (by a wait). A run has a row in `parks` from its first park to its end.
 *
 * SQLite only: BLOB (bytea).
 */
export const name = "durable";

export const sql = `
ALTER TABLE runs ADD COLUMN lineage_id INTEGER;
ALTER TABLE runs ADD COLUMN caller_run_id INTEGER;
CREATE INDEX runs_lineage ON runs (lineage_id) WHERE lineage_id IS NOT NULL;

CREATE TABLE steps (
  id INTEGER PRIMARY KEY,
  lineage_id INTEGER NOT NULL,
  identity BLOB NOT NULL,
  place BLOB NOT NULL,
  name TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  task_run_id INTEGER,
  value TEXT,
  file BLOB,
  bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX steps_identity ON steps (lineage_id, identity);
CREATE INDEX steps_file ON steps (file) WHERE file IS NOT NULL;

CREATE TABLE waits (
  id INTEGER PRIMARY KEY,
  lineage_id INTEGER NOT NULL,
  identity BLOB NOT NULL,
  place BLOB NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  spec TEXT,
  due INTEGER,
  child_lineage_id INTEGER,
  token_hash BLOB,
  created_at INTEGER NOT NULL,
  settled_at INTEGER,
  outcome TEXT,
  event_id INTEGER
);
CREATE UNIQUE INDEX waits_identity ON waits (lineage_id, identity);
CREATE UNIQUE INDEX waits_token ON waits (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX waits_open ON waits (id) WHERE settled_at IS NULL;

CREATE TABLE lineages (
  id INTEGER PRIMARY KEY,
  origin_id INTEGER,
  before_task INTEGER,
  before_time INTEGER,
  depth INTEGER NOT NULL,
  caller_wait INTEGER,
  on_parent_end TEXT
);
CREATE INDEX lineages_origin ON lineages (origin_id) WHERE origin_id IS NOT NULL;

CREATE TABLE parks (
  run_id INTEGER PRIMARY KEY,
  parked INTEGER NOT NULL,
  wake_at INTEGER,
  waits TEXT,
  holds INTEGER NOT NULL,
  ran INTEGER NOT NULL,
  progress TEXT
);
`;
