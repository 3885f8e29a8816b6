/**
 * I10 and I11: a rule fires once per run, and an expectation ends once.
 *
 * SQLite only: json_extract (a column that the writer fills), group_concat (string_agg).
 */
import { findRows, type Invariant } from "./invariant.ts";

/** Only firings after the rule's last change count: before the change, the rule may have fired on every event. */
const FIRED_TWICE = `SELECT f.rule_id, f.run_id FROM firings f JOIN rules u ON u.id = f.rule_id
  WHERE f.run_id IS NOT NULL AND json_extract(u.spec, '$."once"') = 'per_run'
  GROUP BY f.rule_id, f.run_id HAVING count(*) > 1 AND max(f.timestamp) > max(u.updated_at)`;

export const ONCE_PER_RUN: Invariant = {
  id: "I10",
  title: "a rule with once = per_run fires at most once per run",
  unchecked: "firings from before the newest change of a rule",
  check: (statements) =>
    findRows<[number, number]>(statements, FIRED_TWICE, ([rule, run]) => `rule ${rule} fired more than once for run ${run}`),
};

const UNKNOWN_END = "SELECT id, status FROM expectations WHERE status NOT IN ('open', 'met', 'lapsed', 'cancelled')";

/** Ends by event: expectation.met names the expectation as id, expectation.lapsed as expectation_id. */
const ENDS = `SELECT substr(n.name, 13) AS ending, CAST(coalesce(json_extract(e.payload, '$."expectation_id"'),
    json_extract(e.payload, '$."id"')) AS BIGINT) AS expectation FROM events e JOIN names n ON n.id = e.name AND n.name IN ('expectation.met', 'expectation.lapsed')`;

const WRONG_ENDS = `SELECT x.id, x.status, group_concat(d.ending, ' and ' ORDER BY d.ending) FROM (${ENDS}) d JOIN expectations x ON x.id = d.expectation
  GROUP BY x.id HAVING count(*) > 1 OR max(d.ending) <> x.status`;

export const ENDS_ONCE: Invariant = {
  id: "I11",
  title: "an expectation ends exactly once: met, lapsed or cancelled",
  unchecked: null,
  check: (statements) => [
    ...findRows<[number, string]>(statements, UNKNOWN_END, ([id, status]) => `expectation ${id} has the status "${status}"`),
    ...findRows<[number, string, string]>(
      statements,
      WRONG_ENDS,
      ([id, status, events]) => `expectation ${id} is ${status}, its events say ${events}`,
    ),
  ],
};
