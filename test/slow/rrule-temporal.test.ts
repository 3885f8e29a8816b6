import fc from "fast-check";
import t from "tap";
import { randomRules } from "../support/random-rules.ts";
import { compareRecurrence, POLICIES, RULE_ZONES } from "../support/recurrence-check.ts";

t.setTimeout(3_600_000);

const RULES = 20_000;

t.test("the same fires as an implementation that knows zones, but for the cases with a name", async (t) => {
  const met = new Map<string, number>();
  for (const [rule, zone] of fc.sample(fc.tuple(randomRules, fc.constantFrom(...RULE_ZONES)), { numRuns: RULES, seed: 5545 })) {
    const { policies, difference } = compareRecurrence(rule, zone);
    if (difference !== null) t.fail(difference);
    for (const policy of policies) met.set(policy, (met.get(policy) ?? 0) + 1);
  }
  for (const [policy, what] of Object.entries(POLICIES))
    t.ok(met.has(policy), `${policy}: ${what} (${met.get(policy) ?? 0} rules)`);
});
