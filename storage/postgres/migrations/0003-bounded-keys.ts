/**
 * Indexes of texts that have no bound, or a bound in characters. A row of an index takes 2,704 bytes at most, so a long text is
 * indexed by its beginning and a hash (dialect.ts writes the same expression into queries).
 */

export const name = "bounded-keys";

export const sql = `
CREATE FUNCTION index_key(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE WHEN octet_length(value) <= 1000 THEN value
    ELSE left(value, 200) || ' ' || hashtextextended(value, 0)::text || ' ' || hashtextextended(value, 1)::text END $$;

DROP INDEX flows_identity;
CREATE UNIQUE INDEX flows_identity ON flows (index_key(project), index_key(name));
DROP INDEX runs_name;
CREATE INDEX runs_name ON ended_runs (index_key(name), id);
DROP INDEX names_name;
CREATE UNIQUE INDEX names_name ON names (index_key(name));
DROP INDEX events_resource;
CREATE INDEX events_resource ON events (index_key(resource_id)) WHERE resource_id IS NOT NULL;
DROP INDEX artifacts_key;
CREATE INDEX artifacts_key ON artifacts (index_key(key)) WHERE key IS NOT NULL;
DROP INDEX artifacts_kind;
CREATE INDEX artifacts_kind ON artifacts (index_key(kind));
ALTER TABLE ended_counts DROP CONSTRAINT ended_counts_pkey;
CREATE UNIQUE INDEX ended_counts_key ON ended_counts (hour, flow_id, index_key(task_name), state_type, duration_class);
ALTER TABLE fan_in DROP CONSTRAINT fan_in_pkey;
CREATE UNIQUE INDEX fan_in_key ON fan_in (downstream_id, index_key(value), flow_id);
ALTER TABLE engines DROP CONSTRAINT engines_pkey;
CREATE UNIQUE INDEX engines_key ON engines (index_key(id));
ALTER TABLE settings DROP CONSTRAINT settings_pkey;
CREATE UNIQUE INDEX settings_key ON settings (index_key(name));
`;
