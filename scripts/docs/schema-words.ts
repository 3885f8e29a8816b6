/** JSON schemas in words, for the reference pages. */
import { INTEGER_MAX, INTEGER_MIN } from "#protocol/limits";
import { Timestamp } from "#protocol/values/scalar";
import { anchor, code } from "./markdown.ts";

export type Schema = Readonly<Record<string, unknown>>;

/** Titles of schemas that describe a kind of value, not a record. */
const VALUES: Readonly<Record<string, string>> = { i64: "time", Id: "UUID" };

const PLAIN: Readonly<Record<string, string>> = {
  integer: "integer",
  number: "number",
  string: "text",
  boolean: "true or false",
  object: "object",
  null: "null",
};

/** The description of every time, given once for the whole page. */
const TIME_WORDS = (Timestamp as { description?: string }).description;

/** The type of a value. A schema with a title becomes a link to its record. */
export function typeWords(schema: Schema): string {
  const { title } = schema;
  if (typeof title === "string") return VALUES[title] ?? `[${title}](${anchor(title)})`;
  if (Array.isArray(schema["anyOf"])) return unionWords(schema["anyOf"] as Schema[]);
  if (Array.isArray(schema["enum"])) return (schema["enum"] as unknown[]).map((value) => code(String(value))).join(", ");
  if ("const" in schema) return code(JSON.stringify(schema["const"]));
  const { type } = schema;
  if (Array.isArray(type)) return type.map((each) => PLAIN[String(each)] ?? String(each)).join(" or ");
  if (type === "array") return arrayWords(schema);
  if (type === "object") return objectWords(schema);
  return PLAIN[String(type)] ?? "any JSON";
}

function unionWords(members: readonly Schema[]): string {
  const words = members.map(typeWords);
  return words.length === 2 && words[1] === "null" ? `${words[0]} or null` : words.join(" or ");
}

function arrayWords(schema: Schema): string {
  if (Array.isArray(schema["prefixItems"])) return `[${(schema["prefixItems"] as Schema[]).map(typeWords).join(", ")}]`;
  const items = schema["items"];
  return typeof items === "object" && items !== null ? `list of ${typeWords(items as Schema)}` : "list";
}

function objectWords(schema: Schema): string {
  const values = schema["additionalProperties"];
  if (typeof values === "object" && values !== null) return `object of ${typeWords(values as Schema)}`;
  const properties = propertiesOf(schema);
  if (properties.length === 0) return "object";
  return `{ ${properties.map(({ name, schema: field }) => `${name}: ${typeWords(field)}`).join(", ")} }`;
}

export interface Property {
  name: string;
  schema: Schema;
  required: boolean;
}

export function propertiesOf(schema: Schema): Property[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: readonly string[] };
  return Object.entries(properties).map(([name, field]) => ({ name, schema: field, required: required.includes(name) }));
}

/** Default, limits and description of a field, as one text. */
export function aboutWords(schema: Schema): string {
  const parts = [descriptionOf(schema), limitWords(schema)];
  if (schema["default"] !== undefined) parts.push(`default ${code(JSON.stringify(schema["default"]))}`);
  return parts.filter((part) => part !== "").join("; ");
}

/** The field's own description, or that of its non-null alternative; kinds of values are described once for the whole page. */
function descriptionOf(schema: Schema): string {
  const inner = Array.isArray(schema["anyOf"])
    ? (schema["anyOf"] as Schema[]).find((each) => each["type"] !== "null")
    : undefined;
  const said = String(schema["description"] ?? inner?.["description"] ?? "");
  return said === TIME_WORDS ? "" : said;
}

function limitWords(schema: Schema): string {
  const { minimum, maximum, maxLength } = schema;
  const parts: string[] = [];
  const ends = schema["format"] === "int32" ? [null, null] : [minimum, maximum];
  if (typeof ends[0] === "number" && ends[0] !== INTEGER_MIN) parts.push(`at least ${ends[0].toLocaleString("en-US")}`);
  if (typeof ends[1] === "number" && ends[1] !== INTEGER_MAX) parts.push(`at most ${ends[1].toLocaleString("en-US")}`);
  if (typeof maxLength === "number") parts.push(`at most ${maxLength} characters`);
  return parts.join(", ");
}

/** Every titled schema reachable from these, without repetitions, sorted by title. */
export function recordsIn(schemas: readonly unknown[]): [title: string, schema: Schema][] {
  const found = new Map<string, Schema>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== "object" || value === null) return;
    const { title } = value as Schema;
    if (typeof title === "string" && !(title in VALUES)) {
      if (found.has(title)) return;
      found.set(title, value as Schema);
    }
    Object.values(value).forEach(visit);
  };
  visit(schemas);
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}
