/** The report as JSON: everything that was measured, with the summary of each part. */
import type { Report } from "./report.ts";
import { summarize } from "./summary.ts";

export function renderJson({ parts, ...head }: Report): string {
  const summarized = parts.map((part) => ({ ...part, summary: summarize(part) }));
  const [only] = summarized;
  // A test of one part is flat, so that its figures are found without a search.
  const report = summarized.length === 1 ? { ...head, ...only } : { ...head, parts: summarized };
  return `${JSON.stringify(report, null, 2)}\n`;
}
