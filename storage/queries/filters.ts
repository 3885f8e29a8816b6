/** Filters that several lists share. */
import { STATE_TYPES } from "#protocol/records/state";
import type { Statements } from "../sqlite/statements.ts";
import type { Conditions } from "./conditions.ts";

/** Ids of the flows that these filters allow; null for all flows. */
export function flowIds(
  statements: Statements,
  filters: { project?: string; flow?: string; flow_id?: number },
): readonly number[] | null {
  if (filters.project === undefined && filters.flow === undefined) {
    return filters.flow_id === undefined ? null : [filters.flow_id];
  }
  const sql = `SELECT id FROM flows WHERE project = coalesce(?, project) AND name = coalesce(?, name) AND id = coalesce(?, id)`;
  return statements
    .raw<[number]>(sql)
    .all(filters.project ?? null, filters.flow ?? null, filters.flow_id ?? null)
    .map(([id]) => id);
}

/** Every flow id. */
export function allFlowIds(statements: Statements): number[] {
  return statements
    .raw<[number]>("SELECT id FROM flows")
    .all()
    .map(([id]) => id);
}

/** Code of a state type; null for an unknown type, which matches nothing. */
export function stateCodeOf(type: string): number | null {
  const code = (STATE_TYPES as readonly string[]).indexOf(type);
  return code < 0 ? null : code;
}

/** Codes of state types; unknown types match nothing. */
export function stateCodesOf(types: readonly string[]): number[] {
  return [...new Set(types)].map(stateCodeOf).filter((code) => code !== null);
}

/** The states that these filters allow for rows of `alias`; a name equal to its type is stored as NULL. */
export function addStateFilters(
  conditions: Conditions,
  alias: string,
  filters: { state_type?: string; state_name?: string; states?: readonly string[] },
): void {
  if (filters.states !== undefined) conditions.add(`${alias}.state_type IN (${stateCodesOf(filters.states).join(", ")})`);
  if (filters.state_type !== undefined) conditions.add(`${alias}.state_type = ?`, stateCodeOf(filters.state_type) ?? -1);
  if (filters.state_name === undefined) return;
  const code = stateCodeOf(filters.state_name);
  if (code === null) conditions.add(`${alias}.state_name = ?`, filters.state_name);
  else
    conditions.add(
      `(${alias}.state_name = ? OR (${alias}.state_name IS NULL AND ${alias}.state_type = ?))`,
      filters.state_name,
      code,
    );
}

/** Inclusive bounds on the start, or on the creation if the start is missing. */
export function addStartFilters(
  conditions: Conditions,
  alias: string,
  filters: { start_after?: number; start_before?: number },
): void {
  const start = `coalesce(${alias}.start_time, ${alias}.created_at)`;
  if (filters.start_after !== undefined) conditions.add(`${start} >= ?`, filters.start_after);
  if (filters.start_before !== undefined) conditions.add(`${start} <= ?`, filters.start_before);
}
