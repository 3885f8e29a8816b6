/** Checks the templates of a rule, from the API or from code. */
import { RULE_TEMPLATES_LENGTH_MAX } from "#protocol/limits";
import type { FullSpec } from "#protocol/records/rule-spec";
import { checkTemplates, templatesLength } from "#storage/templates/render";

/** The error of the first template that cannot be parsed, or of templates that are too long in total; null without errors. */
export function templateError(spec: FullSpec): string | null {
  const length = spec.do.reduce((sum, { body, url, message, subject, parameters, headers }) => {
    return sum + templatesLength([body, url, message, subject, parameters, headers]);
  }, 0);
  if (length > RULE_TEMPLATES_LENGTH_MAX)
    return `templates of a rule have at most ${RULE_TEMPLATES_LENGTH_MAX} characters together`;
  for (const [index, action] of spec.do.entries()) {
    for (const field of ["body", "url", "message", "subject", "parameters", "headers"] as const) {
      const wrong = checkTemplates(field, action[field]);
      if (wrong !== null) return `action ${index}: ${wrong}`;
    }
  }
  return null;
}
