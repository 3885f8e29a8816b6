/** Checks a rule that a flow file declares as the API checks one that is posted: its fields, its schedule and its templates. */
import { checkClock } from "#actors/expectations/clock";
import { templateError } from "#actors/rules/template-error";
import type { RuleSpec } from "#protocol/rule";
import { type CheckedSpec, completeSpec } from "#protocol/rule-spec";

export function checkDeclaredSpec(spec: RuleSpec): CheckedSpec {
  const checked = completeSpec(spec, checkClock, "code");
  if (!checked.ok) return checked;
  const error = templateError(checked.spec);
  return error === null ? checked : { ok: false, error };
}
