/** A value that people type: text that is JSON is what it says, any other is text. */

export function valueOfText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** What a value is, for people: "text", "a number", "a list". */
export function kindOfText(text: string): string {
  const value = valueOfText(text);
  if (typeof value === "string") return "text";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The text that is read as the value again. */
export function textOfValue(value: unknown): string {
  return typeof value === "string" && valueOfText(value) === value ? value : JSON.stringify(value, null, 2);
}
