/** The report as one HTML file with charts, which needs nothing else and can be sent to others. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Chart, chartsOfPart } from "./charts.ts";
import { type Goal, reachedShare, shownFloor, shownMeasurement, shownOptional } from "./goal.ts";
import type { Part, Report } from "./report.ts";
import { renderMachine, renderTarget, shownInterval } from "./report-text.ts";
import { shownNumber } from "./shown-number.ts";
import { type SummaryLine, summarize } from "./summary.ts";

const CHART_FILES = dirname(createRequire(import.meta.url).resolve("uplot"));

/** A chart and the id of the element that it is drawn into. */
interface PlacedChart {
  element: string;
  chart: Chart;
}

export function renderHtml(report: Report): string {
  const placed: PlacedChart[] = [];
  const parts = report.parts.map((part) => renderPart(part, placed)).join("\n");
  const [part] = report.parts;
  const title = report.parts.length === 1 && part !== undefined ? part.title : "Goals";
  // A script element ends with the first "</script", so no "<" may stand in the data.
  const data = JSON.stringify(placed).replaceAll("<", "\\u003c");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} - Millrace load test</title>
<style>
${asset(join(CHART_FILES, "uPlot.min.css"))}
${asset(join(import.meta.dirname, "report.css"))}
</style>
</head>
<body>
<h1>Load test of Millrace</h1>
<p class="fact">${escaped(renderMachine(report.machine))}</p>
<p class="fact">Measured at ${escaped(report.measured_at)} with <code>${escaped(report.command)}</code></p>
<p class="fact">The load generator shares the machine with what it measures; its own processor time is shown.</p>
${renderGoalTable(report.goals)}
${parts}
<script type="application/json" id="charts">${data}</script>
<script>
${asset(join(CHART_FILES, "uPlot.iife.min.js"))}
${asset(join(import.meta.dirname, "charts.js"))}
</script>
</body>
</html>
`;
}

function asset(path: string): string {
  return readFileSync(path, "utf8").trim();
}

function renderPart(part: Part, placed: PlacedChart[]): string {
  const facts = [...part.facts, ...part.targets.map(renderTarget)].map((fact) => `<li>${escaped(fact)}</li>`).join("\n");
  const summary = summarize(part);
  const charts = new Map(chartsOfPart(part).map(({ phase, charts }) => [phase, charts]));
  const phases = part.phases.map((phase) => {
    const lines = summary.filter((line) => line.phase === phase);
    const notes = part.records
      .filter((record) => record.phase === phase)
      .flatMap(({ target, round, notes }) => notes.map((note) => `${target}, round ${round}: ${note}`));
    return `<h3>${escaped(phase)}</h3>
${renderFigures(part, lines)}
${notes.map((note) => `<p class="fact">${escaped(note)}</p>`).join("\n")}
${renderCharts(charts.get(phase) ?? [], placed)}`;
  });
  return `<h2>${escaped(part.title)}</h2>
<p><code>${escaped(part.command)}</code></p>
<ul>
${facts}
</ul>
${phases.join("\n")}`;
}

function renderCharts(charts: readonly Chart[], placed: PlacedChart[]): string {
  if (charts.length === 0) return "";
  const places = charts.map((chart) => {
    const element = `chart-${placed.length}`;
    placed.push({ element, chart });
    return `<div id="${element}"></div>`;
  });
  return `<p class="fact">Charts: the last round of each side.</p>\n<div class="charts">${places.join("")}</div>`;
}

/** The ratio stands first where two sides were compared. */
function renderFigures({ targets, rounds }: Part, lines: readonly SummaryLine[]): string {
  if (lines.length === 0) return "";
  const names = targets.map(({ name }) => name);
  const isCompared = names.length > 1;
  const head = [
    ...["figure", "unit"].map((name) => `<th>${name}</th>`),
    ...(isCompared ? [number("th", `${names[0]} / ${names[1]}`), number("th", "95 %")] : []),
    ...names.flatMap((name) => [number("th", name), ...(rounds > 1 ? [number("th", "least - most")] : [])]),
  ];
  const rows = lines.map((line) => {
    const ratio = isCompared
      ? [number("td", line.ratio === null ? "" : shownNumber(line.ratio)), number("td", shownInterval(line))]
      : [];
    const values = line.targets.flatMap((value) => {
      const range = value === null ? "" : `${shownNumber(value.least)} - ${shownNumber(value.most)}`;
      return [number("td", value === null ? "" : shownNumber(value.median)), ...(rounds > 1 ? [number("td", range)] : [])];
    });
    return `<tr><td>${escaped(line.name)}</td><td>${escaped(line.unit)}</td>${[...ratio, ...values].join("")}</tr>`;
  });
  return table(head.join(""), rows);
}

function renderGoalTable(goals: readonly Goal[]): string {
  if (goals.length === 0) return "";
  const names = ["what", "floor", "measured", "times the floor", "load generator, us per run", "command"];
  const head = names.map((name) => `<th>${name}</th>`).join("");
  const rows = goals.map((goal) => {
    const share = reachedShare(goal);
    const state = share === null ? "" : share >= 1 ? "reached" : "missed";
    const cells = [
      `<td>${escaped(goal.what)}</td><td>${escaped(shownFloor(goal))}</td>`,
      number("td", goal.measured === null ? "not measured" : shownMeasurement(goal)),
      `<td class="number ${state}">${shownOptional(share)}</td>${number("td", shownOptional(goal.generatorUs))}`,
      `<td><code>${escaped(goal.command)}</code></td>`,
    ];
    return `<tr>${cells.join("")}</tr>`;
  });
  return `<h2>Goals</h2>\n${table(head, rows)}`;
}

function table(head: string, rows: readonly string[]): string {
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>\n${rows.join("\n")}\n</tbody></table></div>`;
}

function number(element: "td" | "th", text: string): string {
  return `<${element} class="number">${escaped(text)}</${element}>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
