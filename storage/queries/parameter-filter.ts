/**
 * Runs by the values of their parameters: `customer=7` finds runs whose parameter `customer` is 7 or "7". No index has parameters,
 * so each run is read, and like a search the filter leaves out runs with long parameters.
 *
 * SQLite only: -> with a JSON path (-> with a key, on jsonb).
 */
import { SEARCHED_PARAMETERS_BYTES_MAX } from "#protocol/limits";
import { canonicalJson, canonicalPart, parseJson, parseKeepingFractions } from "#protocol/values/json";
import type { Statements } from "../sqlite/statements.ts";
import { Conditions } from "./conditions.ts";

/** Values by the name of the parameter; a text also stands for the JSON value that it spells. */
export type ParameterFilter = Readonly<Record<string, string | number | boolean>>;

/** Conditions on `r.parameters`. */
export function addParameters(conditions: Conditions, filter: ParameterFilter): void {
  const wanted = Object.entries(filter);
  if (wanted.length > 0) conditions.add(`octet_length(r.parameters) <= ${SEARCHED_PARAMETERS_BYTES_MAX}`);
  for (const [name, value] of wanted) {
    const texts = jsonTexts(String(value));
    conditions.add(`r.parameters -> ? IN (${texts.map(() => "?").join(", ")})`, `$."${name}"`, ...texts);
  }
}

/** Whether a run has these parameters; false for a run that does not exist. */
export function hasParameters(statements: Statements, run: number, filter: ParameterFilter): boolean {
  const conditions = new Conditions().add("r.id = ?", run);
  addParameters(conditions, filter);
  return statements.raw<[number]>(`SELECT 1 FROM runs r WHERE ${conditions.sql}`).get(...conditions.values) !== undefined;
}

/** The JSON texts that a value may have in a store: as a text, and as what it spells. Whole numbers may be written like 7.0. */
function jsonTexts(value: string): string[] {
  const texts = [canonicalJson(value)];
  try {
    const spelled = parseJson(value);
    const text = canonicalJson(spelled);
    texts.push(text, asWritten(value));
    if (Number.isSafeInteger(spelled)) texts.push(`${text}.0`);
  } catch {
    // It spells nothing.
  }
  return [...new Set(texts)];
}

/** The canonical text of a JSON value with its numbers as they are written, as in the parameters of a run. */
function asWritten(value: string): string {
  return canonicalPart(parseKeepingFractions(`[${value}]`) as object, "0");
}
