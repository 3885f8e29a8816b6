/** What the texts of queries use in PostgreSQL (storage/postgres/dialect.ts). */
import { COUNTED } from "../../schema/codes.ts";

export const name = "functions";

export const sql = `
-- The counters by name, as SQLite stores them.
CREATE VIEW counters AS SELECT c.name, coalesce(c.value, 0) AS value
  FROM members, unnest(counters, ARRAY[${COUNTED.map((name) => `'${name}'`).join(", ")}]) AS c (value, name);
-- Functions that the texts of queries use (dialect.ts). A list of ids is a JSON array.
CREATE FUNCTION id_list(list text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT ARRAY(SELECT value::bigint FROM json_array_elements_text(list::json) AS each (value)) $$;
CREATE FUNCTION hex(bytes bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT upper(encode(bytes, 'hex')) $$;
-- The lines of a log block: JSON text, or d and the base64 of the deflated text.
CREATE FUNCTION log_text(packed smallint, lines bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT CASE packed WHEN 0 THEN convert_from(lines, 'UTF8') ELSE 'd' || encode(lines, 'base64') END $$;
-- The JSON text of a member, as stored, and its value as text; a path is $."name".
CREATE FUNCTION json_value(document text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT (document::json -> (substr(path, 3)::json #>> '{}'))::text $$;
CREATE FUNCTION json_extract(document text, path text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT document::json ->> (substr(path, 3)::json #>> '{}') $$;
`;
