/** Variable records (interface: "VariableRow"). The value of a secret leaves the store only as ciphertext. */
import { SECRET_MASK } from "#protocol/records/variable";
import type { Statements } from "../sqlite/statements.ts";
import { type AnswerPart, arrayPart, type Continued } from "./answer-part.ts";
import { flag, quoted, stored } from "./json.ts";

type VariableRow = [name: string, value: string, secret: number, tags: string | null, created_at: number, updated_at: number];

const SELECT_VARIABLE = "SELECT name, value, secret, tags, created_at, updated_at FROM variables";

function render([name, value, secret, tags, created, updated]: VariableRow, raw: boolean): string {
  const shown = secret === 0 ? value : quoted(SECRET_MASK);
  const ciphertext = raw && secret !== 0 ? `,"raw":${quoted(value)}` : "";
  return (
    `{"name":${quoted(name)},"value":${shown},"tags":${stored(tags, "[]")},"secret":${flag(secret)},` +
    `"created_at":${created},"updated_at":${updated}${ciphertext}}`
  );
}

/** The variable as JSON text, or null for an unknown name; `raw` adds the ciphertext of a secret. */
export function variableByName(statements: Statements, name: string, raw: boolean): string | null {
  const row = statements.raw<VariableRow>(`${SELECT_VARIABLE} WHERE name = ?`).get(name);
  return row === undefined ? null : render(row, raw);
}

export interface VariablesArguments extends Continued {
  /** Only variables after this name. */
  after?: string;
}

/** A part of all variables, by name. */
export function variables(statements: Statements, args: VariablesArguments): AnswerPart<VariablesArguments> {
  const rows = statements.raw<VariableRow>(`${SELECT_VARIABLE} WHERE name > ? ORDER BY name`).iterate(args.after ?? "");
  return arrayPart(
    args,
    rows,
    (row) => render(row, false),
    ([after]) => ({ after }),
  );
}
