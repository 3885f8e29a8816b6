/**
 * I12: no secret is stored in plain text.
 *
 * SQLite only: sqlite_schema (information_schema), instr (strpos), LIKE (ILIKE: it ignores the case of ASCII letters).
 */
import { readLines } from "../schema/log-blocks.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type Finding, type Invariant, told } from "./invariant.ts";

/** Shorter texts occur in many places by chance. */
const SEARCHED_LENGTH_MIN = 8;
/** Blocks of log lines unpacked per step. */
const BLOCKS_READ = 500;

/** Table and column of all texts; log lines are read apart. */
const TEXT_COLUMNS = {
  sqlite: `SELECT s.name, c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c
    WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' AND s.name <> 'log_blocks' AND c.type = 'TEXT'`,
  postgres: `SELECT c.table_name, c.column_name FROM information_schema.columns c JOIN information_schema.tables t
    ON t.table_schema = c.table_schema AND t.table_name = c.table_name
    WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.data_type = 'text'
    ORDER BY c.table_name, c.ordinal_position`,
} as const;

interface Secret {
  name: string;
  text: string;
}

export const SECRETS_STAY_SECRET: Invariant = {
  id: "I12",
  title: "secrets never appear in an event, log line, parameter, artifact or other record",
  unchecked: `answers, stream messages and crash dumps; secrets of fewer than ${SEARCHED_LENGTH_MIN} characters`,
  check(statements, facts) {
    const sealed = statements.raw<[string, string]>("SELECT name, value FROM variables WHERE secret = 1").all();
    const findings: Finding[] = [];
    const secrets: Secret[] = [];
    for (const [name, value] of sealed) {
      const text = facts.open(value);
      if (text === null)
        findings.push({ level: "unusual", text: `variable ${name} cannot be decrypted with the present secret.key` });
      else secrets.push(...searched(name, text));
    }
    if (secrets.length === 0) return findings;
    return [...findings, ...inColumns(statements, secrets), ...inLogs(statements, secrets)];
  },
};

/** The texts within a secret value that would reveal it. */
function searched(name: string, json: string): Secret[] {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(JSON.parse(json));
  return texts.filter((text) => text.length >= SEARCHED_LENGTH_MIN).map((text) => ({ name, text }));
}

/** Searches all columns of all tables; JSON columns hold texts with escapes. */
function inColumns(statements: Statements, secrets: readonly Secret[]): Finding[] {
  const found: string[] = [];
  for (const [table, column] of statements.raw<[string, string]>(TEXT_COLUMNS[statements.database.kind]).all()) {
    for (const { name, text } of secrets) {
      const sql = `SELECT count(*) FROM ${table} WHERE instr(${column}, ?) > 0 OR instr(${column}, ?) > 0`;
      const count = statements.raw<[number]>(sql).get(text, JSON.stringify(text).slice(1, -1))?.[0] ?? 0;
      if (count > 0) found.push(`the value of ${name} stands in clear in ${count} rows of ${table}.${column}`);
    }
  }
  return told(found);
}

function inLogs(statements: Statements, secrets: readonly Secret[]): Finding[] {
  const counts = new Map<string, number>();
  const sql = "SELECT id, lines FROM log_blocks WHERE id > ? ORDER BY id LIMIT ?";
  for (let from = 0; ; ) {
    const blocks = statements.raw<[number, string | Uint8Array]>(sql).all(from, BLOCKS_READ);
    for (const [, lines] of blocks) {
      for (const line of readLines(lines))
        for (const { name, text } of secrets) if (line[4].includes(text)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const last = blocks.at(-1);
    if (last === undefined || blocks.length < BLOCKS_READ) break;
    from = last[0];
  }
  return told([...counts].map(([name, count]) => `the value of ${name} stands in clear in ${count} log lines`));
}
