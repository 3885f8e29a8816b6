/** Rendering of texts and of values that contain texts. */
import { isExactInteger } from "#protocol/values/json";
import type { Budget } from "./budget.ts";
import { Evaluation } from "./evaluate.ts";
import { isTemplate, parseTemplate } from "./parse.ts";
import { TreeCache } from "./tree-cache.ts";
import { TemplateFailure } from "./values.ts";

/** Deepest nesting of rendered maps and lists; request bodies cannot be deeper. */
const NESTING_MAX = 128;

/** The names that templates can use. */
export type Values = Readonly<Record<string, unknown>>;

const trees = new TreeCache();

/** The text with its expressions rendered; throws a TemplateFailure that names the field and the line. */
export function renderText(field: string, text: string, values: Values, budget: Budget): string {
  if (!isTemplate(text)) return text;
  const evaluation = new Evaluation(values, budget);
  try {
    return evaluation.text(trees.treeOf(text));
  } catch (cause) {
    if (!(cause instanceof TemplateFailure)) throw cause;
    throw new TemplateFailure(`template error in ${field}: ${cause.message} (in <string>:${evaluation.line})`);
  }
}

/** The value with every text in it rendered. */
export function renderDeep(field: string, value: unknown, values: Values, budget: Budget, depth = 0): unknown {
  if (typeof value === "string") return renderText(field, value, values, budget);
  if (typeof value !== "object" || value === null || isExactInteger(value) || depth > NESTING_MAX) return value;
  if (Array.isArray(value)) return value.map((each) => renderDeep(field, each, values, budget, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) copy[key] = renderDeep(`${field}.${key}`, each, values, budget, depth + 1);
  return copy;
}

/** Characters of all templates in a value. */
export function templatesLength(value: unknown): number {
  if (typeof value === "string") return isTemplate(value) ? value.length : 0;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, each) => sum + templatesLength(each), 0);
}

/** The first error in the templates of a value, or null. */
export function checkTemplates(field: string, value: unknown): string | null {
  if (typeof value === "string") return checkText(field, value);
  if (typeof value !== "object" || value === null) return null;
  for (const [key, each] of Object.entries(value)) {
    const wrong = checkTemplates(Array.isArray(value) ? field : `${field}.${key}`, each);
    if (wrong !== null) return wrong;
  }
  return null;
}

function checkText(field: string, text: string): string | null {
  if (!isTemplate(text)) return null;
  try {
    // Not cached: another thread renders the template and caches its tree.
    parseTemplate(text);
    return null;
  } catch (cause) {
    if (cause instanceof TemplateFailure) return `${field} template: ${cause.message}`;
    throw cause;
  }
}
