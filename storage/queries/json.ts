/**
 * Wire records are rendered as JSON text directly from rows: JSON columns are copied as stored, so that integers beyond 2^53
 * survive and no JSON is parsed and written again.
 */

/** JSON text of a stored JSON column; `empty` where the column is NULL. */
export function stored(text: string | null, empty: "{}" | "[]" | "null"): string {
  return text ?? empty;
}

/** JSON text of a string or null. */
export function quoted(text: string | null): string {
  return text === null ? "null" : JSON.stringify(text);
}

/** JSON text of a 0/1 column. */
export function flag(value: number): string {
  return value === 0 ? "false" : "true";
}

/** A page as JSON text; the items are JSON texts. */
export function page(items: readonly string[], nextCursor: number | null): string {
  return `{"items":[${items.join(",")}],"next_cursor":${nextCursor}}`;
}
