/** Values by name; a value that is undefined is left out. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What a key or an unquoted value cannot have: spaces, control characters, quotes and "=". */
const DELIMITERS = /[\s\p{Cc}"=]/gu;

/**
 * The fields as logfmt: ` day=2026-01-01 note="two words"`, with a space before each. Secrets are masked before a value is quoted,
 * because the quotes would change a secret that has some itself.
 */
export function fieldsText(fields: LogFields, mask: (text: string) => string): string {
  const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
  return shown.map(([key, value]) => ` ${mask(key).replace(DELIMITERS, "_") || "_"}=${quoted(valueText(value, mask))}`).join("");
}

/** The mask of code outside a run, which knows no secrets. */
export const noMask = (text: string): string => text;

function quoted(text: string): string {
  return text === "" || text.search(DELIMITERS) >= 0 ? JSON.stringify(text) : text;
}

/** The text of a value; objects as JSON. A log line never throws. */
function valueText(value: unknown, mask: (text: string) => string): string {
  if (value instanceof Error) return mask(`${value.name}: ${value.message}`);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : value.toISOString();
  if (typeof value !== "object" || value === null) return mask(String(value));
  const masked = (_key: string, each: unknown) => {
    if (typeof each === "bigint") return mask(String(each));
    if (typeof each === "string") return mask(each);
    if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).map(([key, inner]) => [mask(key), inner]));
  };
  try {
    return JSON.stringify(value, masked) ?? "undefined";
  } catch {
    return "[not JSON]";
  }
}
