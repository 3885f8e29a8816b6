/** Values of templates and how they are printed: as the clients of this interface know them, in the manner of Python. */

/** What a name or attribute that does not exist stands for: it can be asked about and be given a default, nothing else. */
export class Undefined {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class TemplateFailure extends Error {}

/** The value, which has to be there. */
export function defined(value: unknown): unknown {
  if (value instanceof Undefined) throw new TemplateFailure(`undefined value: ${value.name}`);
  return value;
}

/** The text of a value in output: None, True, [1, 'a' as "a"], {"k": "v"}, 1.5. */
export function printed(value: unknown): string {
  return typeof defined(value) === "string" ? (value as string) : nested(value);
}

function nested(value: unknown): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(nested).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, part]) => `${JSON.stringify(key)}: ${nested(part)}`).join(", ")}}`;
  }
  return String(value);
}

/** Empty texts, lists and maps, zero and null count as false. */
export function isTrue(value: unknown): boolean {
  defined(value);
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** An own part of a value: nothing inherited can be reached. */
export function memberOf(value: unknown, key: unknown): unknown {
  defined(value);
  defined(key);
  const name = typeof key === "string" || typeof key === "number" ? key : printed(key);
  if (value === null) throw new TemplateFailure(`null has no ${String(name)}`);
  if (typeof value === "string" || Array.isArray(value)) {
    if (name === "length") return value.length;
    const index = typeof name === "number" ? name : /^-?\d+$/.test(name) ? Number(name) : Number.NaN;
    const found = value.at(Number.isInteger(index) ? index : Number.POSITIVE_INFINITY);
    return Number.isInteger(index) && found !== undefined ? found : new Undefined(String(name));
  }
  if (typeof value === "object" && Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name];
  return new Undefined(String(name));
}
