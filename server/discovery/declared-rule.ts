/** Checks a rule declared in a flow file like a rule posted to the API: its fields, its schedule and its templates. */
import { checkClock } from "#actors/expectation-timer/rule-clock";
import { templateError } from "#actors/rule-engine/rules/template-error";
import type { RuleSpec } from "#protocol/records/rule";
import { type CheckedSpec, completeSpec } from "#protocol/records/rule-spec";

export function checkDeclaredSpec(spec: RuleSpec): CheckedSpec {
  const checked = completeSpec(spec, checkClock, "code");
  if (!checked.ok) return checked;
  const error = templateError(checked.spec);
  return error === null ? checked : { ok: false, error };
}
