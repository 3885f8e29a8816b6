/** A form made from a JSON Schema: a control for each plain property, JSON for every other property. */
import type { JSX } from "preact";

type Node = Readonly<Record<string, unknown>>;

export type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "date" | "date-time" | "json";

export interface SchemaField {
  name: string;
  kind: FieldKind;
  required: boolean;
  title: string;
  hint: string;
  choices: readonly string[];
  /** The initial text; "" omits the property. */
  initial: string;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The only branch besides null of an optional property; any other property itself. */
function plainOf(node: Node): Node {
  const branches = (node["anyOf"] ?? node["oneOf"]) as unknown;
  if (!Array.isArray(branches)) return node;
  const real = branches.filter((branch) => isNode(branch) && branch["type"] !== "null");
  return real.length === 1 && isNode(real[0]) ? { ...node, ...real[0] } : node;
}

function choicesOf(node: Node): string[] | null {
  if (Array.isArray(node["enum"])) return node["enum"].map((each) => JSON.stringify(each));
  const branches = node["anyOf"] ?? node["oneOf"];
  if (!Array.isArray(branches) || branches.length === 0) return null;
  return branches.every((branch) => isNode(branch) && "const" in branch)
    ? branches.map((each) => JSON.stringify(each.const))
    : null;
}

function kindOf(node: Node): FieldKind {
  if (choicesOf(node) !== null) return "choice";
  const { type, format } = node;
  if (type === "string") return format === "date" || format === "date-time" ? format : "text";
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return "json";
}

function hintOf(node: Node, kind: FieldKind): string {
  const bounds = [
    typeof node["minimum"] === "number" ? `from ${node["minimum"]}` : "",
    typeof node["maximum"] === "number" ? `to ${node["maximum"]}` : "",
    typeof node["pattern"] === "string" ? `like ${node["pattern"]}` : "",
  ];
  const words =
    { text: "text", choice: "", json: "JSON", "date-time": "RFC 3339, as 2026-10-01T00:00:00Z" }[kind as string] ?? kind;
  return [String(node["description"] ?? ""), [words, ...bounds].filter(Boolean).join(" ")].filter(Boolean).join(" \u00b7 ");
}

/** The properties of an object schema in order. */
export function fieldsOf(schema: Node | undefined): SchemaField[] {
  const properties = schema?.["properties"];
  const required = Array.isArray(schema?.["required"]) ? schema["required"] : [];
  if (!isNode(properties)) return [];
  return Object.entries(properties).map(([name, property]) => {
    const node = plainOf(isNode(property) ? property : {});
    const kind = kindOf(node);
    const given = node["default"];
    const plain = kind !== "json" && kind !== "choice" && typeof given === "string";
    const initial = given === undefined || given === null ? "" : plain ? given : JSON.stringify(given);
    const title = typeof node["title"] === "string" ? node["title"] : name;
    return {
      name,
      kind,
      required: required.includes(name),
      title,
      hint: hintOf(node, kind),
      choices: choicesOf(node) ?? [],
      initial,
    };
  });
}

/** The texts of these values; "" for omitted ones. */
export function textsOf(fields: readonly SchemaField[], values: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = ({ name, kind }: SchemaField): string => {
    const value = values[name];
    if (value === undefined) return "";
    return typeof value === "string" && kind !== "json" && kind !== "choice" ? value : JSON.stringify(value);
  };
  return Object.fromEntries(fields.map((field) => [field.name, text(field)]));
}

/** The values of the field texts. @throws Error with the name of the field whose JSON is invalid. */
export function valuesOf(fields: readonly SchemaField[], texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    if (text !== "") values[field.name] = readText(field, text);
    else if (field.required && field.kind === "text") values[field.name] = "";
  }
  return values;
}

function readText({ name, kind }: SchemaField, text: string): unknown {
  if (kind === "text" || kind === "date" || kind === "date-time") return text;
  // Text that is not a number is sent unchanged: the server answers what it expects.
  if (kind === "number" || kind === "integer") return Number.isNaN(Number(text)) ? text : Number(text);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`parameter "${name}": this is not JSON`);
  }
}

/** The field of a server message: the one it names, or the one that contains what it names. */
export function fieldIn(message: string, fields: readonly SchemaField[]): string | null {
  // An answer that is not an object is the only field of its form.
  const named = /(?:parameter|answer) "([^"]+)"/.exec(message)?.[1] ?? /^(answer): /.exec(message)?.[1] ?? null;
  if (named === null) return null;
  const holds = (name: string) => named === name || named.startsWith(`${name}.`) || named.startsWith(`${name}[`);
  return fields.find(({ name }) => holds(name))?.name ?? null;
}

interface FieldsProps {
  fields: readonly SchemaField[];
  texts: Readonly<Record<string, string>>;
  change: (name: string, text: string) => void;
  /** The server's error, shown at its field. */
  problem: string;
}

export function SchemaFields({ fields, texts, change, problem }: FieldsProps): JSX.Element {
  const wrong = fieldIn(problem, fields);
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          text={texts[field.name] ?? field.initial}
          change={(text) => change(field.name, text)}
          problem={wrong === field.name ? problem : ""}
        />
      ))}
    </>
  );
}

interface FieldProps {
  field: SchemaField;
  text: string;
  change: (text: string) => void;
  problem: string;
}

function Field({ field, text, change, problem }: FieldProps): JSX.Element {
  const id = `parameter-${field.name}`;
  return (
    <div class="stacked">
      <label for={id}>
        {field.title}
        {field.required && <span class="faint"> required</span>}
      </label>
      <Control {...{ field, id, text, change }} wrong={problem !== ""} />
      {problem === "" ? (
        field.hint !== "" && <span class="faint">{field.hint}</span>
      ) : (
        <span class="problem" role="alert">
          {problem}.
        </span>
      )}
    </div>
  );
}

function Control({ field, id, text, change, wrong }: Omit<FieldProps, "problem"> & { id: string; wrong: boolean }): JSX.Element {
  const common = {
    id,
    class: `field ${wrong ? "wrong" : ""} ${field.kind === "json" ? "mono" : ""}`,
    value: text,
    "aria-invalid": wrong,
    onInput: (event: { currentTarget: { value: string } }) => change(event.currentTarget.value),
  };
  if (field.kind === "json") return <textarea rows={3} {...common} />;
  if (field.kind === "boolean" || field.kind === "choice")
    return (
      <select {...common}>
        {!(field.required && text !== "") && <option value="">not set</option>}
        {(field.kind === "boolean" ? ["true", "false"] : field.choices).map((choice) => (
          <option key={choice} value={choice}>
            {choice.replace(/^"(.*)"$/, "$1")}
          </option>
        ))}
      </select>
    );
  if (field.kind === "date") return <input type="date" {...common} />;
  const mode = { integer: "numeric", number: "decimal" }[field.kind as string] as "numeric" | "decimal" | undefined;
  return <input type="text" {...(mode !== undefined && { inputMode: mode })} autocomplete="off" {...common} />;
}
