/** What `millrace doctor` says of the home of a server that has been killed often. */
import { examine } from "#server/operations/doctor";
import type { Check } from "../check.ts";

export function acceptHome(home: string, check: Check): void {
  const { checks } = examine({ home, version: "test", totals: null, clock: null });
  const broken = checks.flatMap(({ id, findings }) =>
    findings.filter(({ level }) => level === "broken").map(({ text }) => `${id}: ${text}`),
  );
  check.same(broken, [], "what doctor finds");
}
