/** Accessibility violations that axe finds on a page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** Rules that check colours, which depend on the theme. */
const COLOURS = ["color-contrast", "link-in-text-block"];

interface Violation {
  id: string;
  impact: string;
  nodes: { target: string[]; failureSummary: string }[];
}

interface Axe {
  run(options: object): Promise<{ violations: Violation[] }>;
}

/** Serious and critical violations, each with its place. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated outside the page's content security policy, like a developer tool.
  await page.evaluate(AXE);
  return found(page, {});
}

/** Colour violations of a page already checked by `violations`, after only its colours have changed. */
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
