/**
 * Fields of bodies that their schema does not have. They are ignored, as the interface requires; the server's log names each
 * once, so that a misspelt field can be found.
 */

type Node = Readonly<Record<string, unknown>>;

/** Fields named by one instance: clients misspell a few, and a client that keeps sending new ones must not fill the log. */
const NAMED_MAX = 100;
const NAME_LENGTH_MAX = 60;
const ITEMS_LOOKED_AT = 100;
const LEVELS_LOOKED_AT = 4;
/** Kept and handed to engines as sent, unknown fields included. */
const KEPT_WHOLE: ReadonlySet<unknown> = new Set(["FlowOptions"]);

export class UnknownFields {
  readonly #named = new Set<string>();

  /**
   * The log line with the unknown fields of a body that passed its schema; null if there are none that were not logged before.
   */
  line(route: string, schema: object, body: unknown): string | null {
    if (this.#named.size >= NAMED_MAX) return null;
    const found = new Set<string>();
    collect(schema as Node, body, "", found, 0);
    const fresh = [...found].filter((field) => !this.#named.has(`${route} ${field}`)).slice(0, NAMED_MAX - this.#named.size);
    for (const field of fresh) this.#named.add(`${route} ${field}`);
    if (fresh.length === 0) return null;
    const fields = fresh.map((field) => JSON.stringify(field)).join(", ");
    return `${route}: the body has fields that it does not take, which are ignored and named only once: ${fields}`;
  }
}

function collect(schema: Node, value: unknown, path: string, found: Set<string>, level: number): void {
  if (level > LEVELS_LOOKED_AT || found.size >= NAMED_MAX) return;
  if (Array.isArray(value)) {
    const items = formsOf(schema).find((form) => isNode(form["items"]))?.["items"];
    if (isNode(items)) for (const each of value.slice(0, ITEMS_LOOKED_AT)) collect(items, each, `${path}[]`, found, level + 1);
    return;
  }
  if (!isNode(value)) return;
  // A map takes any key. If a body may have several forms, a field of any form is known.
  const forms = formsOf(schema).filter((form) => isNode(form["properties"]));
  if (forms.length === 0 || forms.some(({ title }) => KEPT_WHOLE.has(title))) return;
  // Not Object.entries: a body may have 100,000 keys, of which only the first unknown keys are named.
  for (const name in value) {
    if (found.size >= NAMED_MAX) return;
    const each = value[name];
    const property = propertyOf(forms, name);
    // Most fields are known and have no fields of their own.
    if (property !== undefined && (typeof each !== "object" || each === null)) continue;
    const place = path === "" ? name.slice(0, NAME_LENGTH_MAX) : `${path}.${name.slice(0, NAME_LENGTH_MAX)}`;
    if (property === undefined) found.add(place);
    else collect(property, each, place, found, level + 1);
  }
}

/** The forms of each schema seen so far; schemas are constants. */
const FORMS = new WeakMap<Node, readonly Node[]>();

function formsOf(schema: Node): readonly Node[] {
  const known = FORMS.get(schema);
  if (known !== undefined) return known;
  const { anyOf } = schema;
  const forms = Array.isArray(anyOf) ? anyOf.filter(isNode).flatMap(formsOf) : [schema];
  FORMS.set(schema, forms);
  return forms;
}

function propertyOf(forms: readonly Node[], name: string): Node | undefined {
  for (const { properties } of forms) {
    const property = Object.hasOwn(properties as Node, name) ? (properties as Node)[name] : undefined;
    if (isNode(property)) return property;
  }
  return undefined;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
