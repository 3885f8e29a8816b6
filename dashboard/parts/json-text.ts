/** The value of typed text: parsed if it is valid JSON, else the text itself. */

export function valueOfText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The kind of a value, for users: "text", "a number", "a list". */
export function kindOfText(text: string): string {
  const value = valueOfText(text);
  if (typeof value === "string") return "text";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The text that parses to the value again. */
export function textOfValue(value: unknown): string {
  return typeof value === "string" && valueOfText(value) === value ? value : JSON.stringify(value, null, 2);
}
