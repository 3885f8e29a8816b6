/**
 * Templates as trees. The parser is that of nunjucks. Its compiler and runtime, which turn templates into JavaScript, are
 * never used: evaluate.ts evaluates the tree, so that a template can reach only the values it is given.
 */
import { parse as parseNunjucks } from "nunjucks/src/parser.js";
import { FILTER_NAMES } from "./filters.ts";
import { TemplateFailure } from "./values.ts";

/** A node of the tree; its fields depend on its type. */
export interface TemplateNode {
  typename: string;
  lineno: number;
  children?: TemplateNode[];
  value?: unknown;
  [field: string]: unknown;
}

/** Longest template, in UTF-16 units. */
export const TEMPLATE_LENGTH_MAX = 16 * 1024;

/** The allowed node types; includes, macros, blocks and calls of anything but range are excluded. */
const ALLOWED = new Set([
  ...["Root", "NodeList", "Output", "TemplateData", "Literal", "Symbol", "Group", "Array", "Dict", "Pair", "LookupVal"],
  ...["If", "InlineIf", "For", "Set", "Capture", "FunCall", "Filter", "Compare", "CompareOperand"],
  ...["In", "Is", "Or", "And", "Not", "Add", "Concat", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow", "Neg", "Pos"],
]);

/** True when the text contains template syntax; other texts are used unchanged. */
export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("{%");
}

export interface TemplateTree {
  root: TemplateNode;
  /** Number of nodes: each takes about 200 bytes of memory. */
  nodes: number;
}

/** The tree of a template; throws a TemplateFailure with the line for a syntax error or a disallowed node. */
export function parseTemplate(text: string): TemplateTree {
  if (text.length > TEMPLATE_LENGTH_MAX) throw new TemplateFailure(`longer than ${TEMPLATE_LENGTH_MAX} characters`);
  let root: TemplateNode;
  try {
    root = parseNunjucks(text, [], {}) as TemplateNode;
  } catch (cause) {
    throw new TemplateFailure(syntaxError(cause));
  }
  return { root, nodes: check(root) };
}

function syntaxError(cause: unknown): string {
  if (cause instanceof RangeError) return "nested too deeply";
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/^Template render error:\s*/, "").replaceAll(/\s+/g, " ");
}

/** Checks the node types and returns the number of nodes. */
function check(node: TemplateNode): number {
  const waiting = [node];
  let nodes = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    nodes += 1;
    if (!ALLOWED.has(next.typename))
      throw new TemplateFailure(`${next.typename} is not allowed (in <string>:${next.lineno + 1})`);
    if (next.typename === "Literal" && typeof next.value === "object" && next.value !== null)
      throw new TemplateFailure(`regular expressions are not allowed (in <string>:${next.lineno + 1})`);
    if (next.typename === "FunCall") checkCall(next);
    if (next.typename === "Filter") checkFilter(next);
    for (const part of Object.values(next)) if (isNode(part)) waiting.push(part);
    for (const list of [next.children, next["targets"], next["ops"]]) if (Array.isArray(list)) waiting.push(...list);
  }
  return nodes;
}

export function isNode(value: unknown): value is TemplateNode {
  return typeof value === "object" && value !== null && "typename" in value && "lineno" in value;
}

function checkCall(node: TemplateNode): void {
  const name = node["name"];
  if (isNode(name) && name.typename === "Symbol" && name.value === "range") return;
  throw new TemplateFailure(`nothing but range can be called (in <string>:${node.lineno + 1})`);
}

function checkFilter(node: TemplateNode): void {
  const name = node["name"];
  if (isNode(name) && FILTER_NAMES.includes(String(name.value))) return;
  const written = isNode(name) ? String(name.value) : "";
  throw new TemplateFailure(`unknown filter "${written}"; known: ${FILTER_NAMES.join(", ")}`);
}
