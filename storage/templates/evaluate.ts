/** Evaluates the tree of a template. Visiting a node and creating a value spend from a budget. */
import { isExactInteger } from "#protocol/values/json";
import type { Budget } from "./budget.ts";
import { applyFilter } from "./filters.ts";
import type { TemplateNode } from "./parse.ts";
import { areEqual, defined, isMap, isTrue, itemsOf, memberOf, printed, TemplateFailure, Undefined } from "./values.ts";

/** Longest result, in UTF-16 units. */
const OUTPUT_LENGTH_MAX = 1_000_000;
/** Maximum length of a range. */
const RANGE_MAX = 1_000;
/** Deepest nesting of expressions and blocks. */
const DEPTH_MAX = 200;

type Scope = Map<string, unknown>;

export class Evaluation {
  readonly #scopes: Scope[];
  readonly #budget: Budget;
  #depth = 0;
  #line = 1;

  constructor(values: Readonly<Record<string, unknown>>, budget: Budget) {
    this.#budget = budget;
    this.#scopes = [new Map(Object.entries(values)), new Map()];
  }

  /** The line being evaluated. */
  get line(): number {
    return this.#line;
  }

  text(node: TemplateNode | null | undefined): string {
    if (node == null) return "";
    let text = "";
    for (const child of node.children ?? [node]) {
      text += this.#statement(child);
      if (text.length > OUTPUT_LENGTH_MAX) throw new TemplateFailure(`output exceeds ${OUTPUT_LENGTH_MAX} characters`);
    }
    return text;
  }

  #statement(node: TemplateNode): string {
    this.#enter(node);
    const text = this.#statementText(node);
    this.#depth -= 1;
    this.#budget.spendText(text.length);
    return text;
  }

  #statementText(node: TemplateNode): string {
    switch (node.typename) {
      case "TemplateData":
        return String(node.value);
      case "Output":
        return (node.children ?? []).map((part) => this.#output(part)).join("");
      case "NodeList":
      case "Root":
        return this.text(node);
      case "If":
        return isTrue(this.#value(part(node, "cond"))) ? this.text(part(node, "body")) : this.text(optionalPart(node, "else_"));
      case "For":
        return this.#loop(node);
      case "Set":
        this.#set(node);
        return "";
      default:
        return this.#output(node);
    }
  }

  #output(node: TemplateNode): string {
    if (node.typename === "TemplateData") return String(node.value);
    return printed(this.#value(node), this.#budget);
  }

  #loop(node: TemplateNode): string {
    const items = this.#loopItems(defined(this.#value(part(node, "arr"))));
    if (items.length === 0) return this.text(optionalPart(node, "else_"));
    const name = part(node, "name");
    let text = "";
    for (const [index, item] of items.entries()) {
      const scope: Scope = new Map();
      if (name.typename === "Array") {
        const parts = Array.isArray(item) ? item : [item];
        for (const [at, each] of (name.children ?? []).entries())
          scope.set(String(each.value), at < parts.length ? parts[at] : new Undefined(String(each.value)));
      } else scope.set(String(name.value), item);
      scope.set("loop", loopState(index, items.length));
      this.#scopes.push(scope);
      text += this.text(part(node, "body"));
      this.#scopes.pop();
      if (text.length > OUTPUT_LENGTH_MAX) throw new TemplateFailure(`output exceeds ${OUTPUT_LENGTH_MAX} characters`);
    }
    return text;
  }

  /** Loops visit maps as pairs of key and value. */
  #loopItems(value: unknown): unknown[] {
    const items = itemsOf(value, this.#budget);
    if (items === null) throw new TemplateFailure("only lists, maps and texts can be looped over");
    return isMap(value) ? items.map((key) => [key, value[String(key)]]) : items;
  }

  #set(node: TemplateNode): void {
    const captured = optionalPart(node, "body");
    const value = captured === null ? this.#value(part(node, "value")) : this.text(part(captured, "body"));
    for (const target of node["targets"] as TemplateNode[]) this.#scopes.at(-1)?.set(String(target.value), value);
  }

  #value(node: TemplateNode): unknown {
    this.#enter(node);
    const value = this.#valueOf(node);
    this.#depth -= 1;
    return value;
  }

  #valueOf(node: TemplateNode): unknown {
    switch (node.typename) {
      case "Literal":
        return node.value;
      case "Symbol":
        return this.#lookUp(String(node.value));
      case "Group":
        return (node.children ?? []).map((child) => this.#value(child)).at(-1);
      case "Array":
        return (node.children ?? []).map((child) => defined(this.#value(child)));
      case "Dict":
        return this.#map(node);
      case "LookupVal":
        return memberOf(this.#value(part(node, "target")), this.#value(part(node, "val")), this.#budget);
      case "InlineIf":
        return this.#inlineIf(node);
      case "FunCall":
        return this.#range(node);
      case "Filter":
        return this.#filter(node);
      case "Is":
        return this.#test(node);
      case "Compare":
        return this.#compare(node);
      case "Not":
        return !isTrue(this.#value(part(node, "target")));
      case "Neg":
        return -this.#number(part(node, "target"));
      case "Pos":
        return this.#number(part(node, "target"));
      default:
        return this.#binary(node);
    }
  }

  #lookUp(name: string): unknown {
    for (let at = this.#scopes.length - 1; at >= 0; at -= 1) {
      const scope = this.#scopes[at];
      if (scope?.has(name)) return scope.get(name);
    }
    return Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : new Undefined(name);
  }

  #map(node: TemplateNode): Record<string, unknown> {
    const map: Record<string, unknown> = Object.create(null);
    for (const pair of node.children ?? []) {
      const key = part(pair, "key");
      map[key.typename === "Symbol" ? String(key.value) : printed(this.#value(key), this.#budget)] = defined(
        this.#value(part(pair, "value")),
      );
    }
    return map;
  }

  #inlineIf(node: TemplateNode): unknown {
    if (isTrue(this.#value(part(node, "cond")))) return this.#value(part(node, "body"));
    const otherwise = optionalPart(node, "else_");
    return otherwise === null ? "" : this.#value(otherwise);
  }

  #range(node: TemplateNode): number[] {
    const given = (part(node, "args").children ?? []).map((child) => this.#number(child));
    const [start, stop, step] = given.length === 1 ? [0, given[0] ?? 0, 1] : [given[0] ?? 0, given[1] ?? 0, given[2] ?? 1];
    const count = step === 0 ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil((stop - start) / step));
    if (!(count <= RANGE_MAX)) throw new TemplateFailure(`range has more than ${RANGE_MAX} numbers`);
    this.#budget.spend(count);
    return Array.from({ length: count }, (_, index) => start + index * step);
  }

  #filter(node: TemplateNode): unknown {
    const [input, ...args] = (part(node, "args").children ?? []).map((child) => this.#value(child));
    return applyFilter(String(part(node, "name").value), input, args, this.#budget);
  }

  /** `is defined` and the other supported tests. */
  #test(node: TemplateNode): boolean {
    const value = this.#value(part(node, "left"));
    const test = String(part(node, "right").value);
    if (test === "defined") return !(value instanceof Undefined);
    if (test === "undefined") return value instanceof Undefined;
    defined(value);
    switch (test) {
      case "none":
      case "null":
        return value === null;
      case "string":
        return typeof value === "string";
      case "number":
        return typeof value === "number" || isExactInteger(value);
      case "mapping":
        return isMap(value);
      default:
        throw new TemplateFailure(`unknown test "${test}"`);
    }
  }

  #compare(node: TemplateNode): boolean {
    let left = defined(this.#value(part(node, "expr")));
    for (const operand of node["ops"] as TemplateNode[]) {
      const right = defined(this.#value(part(operand, "expr")));
      if (!this.#compares(String(operand["type"]), left, right)) return false;
      left = right;
    }
    return true;
  }

  #binary(node: TemplateNode): unknown {
    const left = defined(this.#value(part(node, "left")));
    if (node.typename === "And") return isTrue(left) ? defined(this.#value(part(node, "right"))) : left;
    if (node.typename === "Or") return isTrue(left) ? left : defined(this.#value(part(node, "right")));
    const right = defined(this.#value(part(node, "right")));
    const budget = this.#budget;
    if (node.typename === "In") return contains(right, left, budget);
    const texts = typeof left === "string" && typeof right === "string";
    if (node.typename === "Concat" || (node.typename === "Add" && texts)) return printed(left, budget) + printed(right, budget);
    return arithmetic(node.typename, number(left, budget), number(right, budget));
  }

  #number(node: TemplateNode): number {
    return number(this.#value(node), this.#budget);
  }

  #compares(operator: string, left: unknown, right: unknown): boolean {
    if (operator === "==" || operator === "===") return areEqual(left, right, this.#budget);
    if (operator === "!=" || operator === "!==") return !areEqual(left, right, this.#budget);
    if (typeof left === "string" && typeof right === "string") {
      this.#budget.spendText(Math.min(left.length, right.length));
      return isOrdered(operator, left < right ? -1 : left > right ? 1 : 0);
    }
    if (typeof left === "number" && typeof right === "number") return isOrdered(operator, left - right);
    throw new TemplateFailure(`${operator} needs two numbers or two texts`);
  }

  #enter(node: TemplateNode): void {
    this.#line = node.lineno + 1;
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw new TemplateFailure("nested too deeply");
    this.#budget.spend(1);
  }
}

const CONSTANTS: Readonly<Record<string, unknown>> = { None: null, True: true, False: false };

function part(node: TemplateNode, name: string): TemplateNode {
  const found = node[name];
  if (found === null || found === undefined) throw new TemplateFailure(`${node.typename} lacks its ${name}`);
  return found as TemplateNode;
}

function optionalPart(node: TemplateNode, name: string): TemplateNode | null {
  return (node[name] ?? null) as TemplateNode | null;
}

function loopState(index: number, length: number): Record<string, unknown> {
  return { index: index + 1, index0: index, first: index === 0, last: index === length - 1, length };
}

function number(value: unknown, budget: Budget): number {
  if (typeof defined(value) === "number") return value as number;
  throw new TemplateFailure(`${printed(value, budget).slice(0, 40)} is no number`);
}

function arithmetic(operator: string, left: number, right: number): number {
  switch (operator) {
    case "Add":
      return left + right;
    case "Sub":
      return left - right;
    case "Mul":
      return left * right;
    case "Pow":
      return left ** right;
    default:
      break;
  }
  if (right === 0) throw new TemplateFailure("division by zero");
  if (operator === "Div") return left / right;
  if (operator === "FloorDiv") return Math.floor(left / right);
  // The sign follows the divisor, as in Python.
  return left - right * Math.floor(left / right);
}

/** Whether the result of a comparison (below, equal to or above zero) satisfies the operator. */
function isOrdered(operator: string, order: number): boolean {
  if (operator === "<") return order < 0;
  if (operator === ">") return order > 0;
  return operator === "<=" ? order <= 0 : order >= 0;
}

function contains(holder: unknown, item: unknown, budget: Budget): boolean {
  if (typeof holder === "string") {
    budget.spendText(holder.length);
    return holder.includes(printed(item, budget));
  }
  if (Array.isArray(holder)) return holder.some((each) => areEqual(each, item, budget));
  if (isMap(holder)) return Object.hasOwn(holder, printed(item, budget));
  throw new TemplateFailure("in needs a list, a map or text");
}
