/** What axe finds on a page: violations that keep people from using it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The rules that look at colours: what a theme changes. */
const COLOURS = ["color-contrast", "link-in-text-block"];

interface Violation {
  id: string;
  impact: string;
  nodes: { target: string[]; failureSummary: string }[];
}

interface Axe {
  run(options: object): Promise<{ violations: Violation[] }>;
}

/** Serious and critical violations, each with where it is. */
export async function violations(page: Page): Promise<string[]> {
  // Past the policy of the page, as a tool of the developer would be.
  await page.evaluate(AXE);
  return found(page, {});
}

/** Those of a page that `violations` has looked at, after its colours have changed and nothing else. */
export function violationsOfColours(page: Page): Promise<string[]> {
  return found(page, { runOnly: { type: "rule", values: COLOURS } });
}

async function found(page: Page, options: object): Promise<string[]> {
  const violations = await page.evaluate(
    async (given) =>
      (await (globalThis as unknown as { axe: Axe }).axe.run({ resultTypes: ["violations"], ...given })).violations,
    options,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary}`));
}
