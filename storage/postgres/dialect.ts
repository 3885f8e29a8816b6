/**
 * The SQL of our queries for PostgreSQL. The texts are written for SQLite, and differ from PostgreSQL's in a few known places:
 * each rule here is one of them. Functions of SQLite that a text can keep stand in the schema (migrations/0002-functions.ts).
 */

/** Indexes of SQLite that have the runs which have not ended. */
const LIVE = new Set(["runs_unfinished"]);
/** Indexes of SQLite that have the runs which have ended. */
const ENDED = new Set([
  "runs_end",
  "runs_ended",
  "runs_no_duration",
  "runs_received",
  "runs_start",
  "runs_sub_state",
  "runs_went_wrong",
]);

/** A JSON array of ids as an array: without the functions of JSON, which take half the time of a page. */
function idList(json: string): string {
  return `translate(${json}, '[]', '{}')::bigint[]`;
}

type Rule = readonly [from: RegExp, to: string | ((...groups: string[]) => string)];

const RULES: readonly Rule[] = [
  // The planner chooses indexes; one of SQLite's partial indexes names the table of runs.
  [/\bruns(?: (?:AS )?(\w+))? INDEXED BY (\w+)/g, (_all, alias, index) => `${tableOf(String(index))} ${alias ?? "runs"}`],
  [/ INDEXED BY \w+/g, ""],
  [/ NOT INDEXED/g, ""],
  [/\bCROSS JOIN\b/g, "JOIN"],
  // A list of ids. The plan is made without the values, so only a query of its own is evaluated once and not for each row.
  [/\bIN \(SELECT value FROM json_each\(\?\)\)/g, `= ANY ((SELECT ${idList("?")})::bigint[])`],
  [/\bjson_each\((\?|coalesce\([^()]*\))\) (\w+)/g, `unnest(${idList("$1")}) WITH ORDINALITY AS $2 (value, place)`],
  // The members of an object.
  [/\bjson_each\((\w+\.\w+)\) (\w+)/g, "json_each_text($1::json) AS $2 (key, value)"],
  [/\bgroup_concat\(/g, "string_agg("],
  [/\bjson_group_array\(([\w.]+)\)/g, "coalesce(json_agg($1)::text, '[]')"],
  // The writer fills columns with what SQLite reads from the JSON.
  [/\bjson_extract\((?:(\w+)\.)?resource, '\$\.(kind|id)'\)/g, (_all, table, key) => `${qualified(table)}resource_${key}`],
  // Texts without a bound are indexed by keys (migrations/0003-bounded-keys.ts); the texts of queries have these in parentheses.
  [/(?<!\w)\(([\w.]+)\) = \(\?\)/g, "($1 IS NOT NULL AND index_key($1) = index_key(?))"],
  [/(?<!\w)\(r\.name\)/g, "index_key(r.name)"],
  [/(\w+\.parameters) -> \?/g, "json_value($1, ?)"],
  [/\bmax\((coalesce\([^()]*\)), (coalesce\([^()]*\))\)/g, "greatest($1, $2)"],
  [/\bifnull\(/g, "coalesce("],
  [/\binstr\(/g, "strpos("],
  [/ LIKE /g, " ILIKE "],
  // All rows.
  [/\bLIMIT \?/g, "LIMIT nullif(?::bigint, -1)"],
  // The type of a value that is only compared with NULL cannot be found out.
  [/\? IS NULL/g, "?::text IS NULL"],
];

/** Translated texts: few, because each is written in the code or made of a few parts that are. */
const translated = new Map<string, string>();
const TRANSLATED_MAX = 1_024;

export function toPostgres(sql: string): string {
  const known = translated.get(sql);
  if (known !== undefined) return known;
  let text = withoutEnds(sql);
  for (const [from, to] of RULES) text = typeof to === "string" ? text.replace(from, to) : text.replace(from, to);
  if (text.includes("log_blocks"))
    text = text.replace(/(\w+\.)?\blines\b/g, (_all, table = "") => `log_text(${table}packed, ${table}lines)`);
  text = numbered(text);
  if (translated.size >= TRANSLATED_MAX) translated.clear();
  translated.set(sql, text);
  return text;
}

/** A read of runs, up to the next one: the table, and the conditions that follow. */
const READ_OF_RUNS = /\bruns(?: (?:AS )?(\w+))? INDEXED BY (\w+)(?:(?!\bruns(?: (?:AS )?\w+)? INDEXED BY).)*/gs;

/** Whether a run has an end follows from its table: with the condition, an index of other columns would not do alone. */
function withoutEnds(sql: string): string {
  return sql.replace(READ_OF_RUNS, (read, alias: string | undefined, index: string) => {
    if (!LIVE.has(index) && !ENDED.has(index)) return read;
    const column = alias === undefined ? "(?<![.\\w])end_time" : `\\b${alias}\\.end_time`;
    const condition = new RegExp(`${column} IS (NOT )?NULL`, "g");
    return read.replace(condition, (_all, not?: string) => (ENDED.has(index) === (not !== undefined) ? "TRUE" : "FALSE"));
  });
}

function tableOf(index: string): string {
  if (LIVE.has(index)) return "live_runs";
  return ENDED.has(index) ? "ended_runs" : "runs";
}

function qualified(table: string | undefined): string {
  return table === undefined ? "" : `${table}.`;
}

/** `?` outside of quotes becomes $1, $2 and so on. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'[^']*'|\?/g, (part) => {
    if (part !== "?") return part;
    count += 1;
    return `$${count}`;
  });
}
