/** The report as text: what was measured where, then one aligned table per phase. */
import type { Machine } from "../machine.ts";
import { renderGoals } from "./goal.ts";
import type { Part, Report } from "./report.ts";
import { shownNumber } from "./shown-number.ts";
import { type Summarized, type SummaryLine, summarize, type TargetRecord } from "./summary.ts";

export function renderReport({ machine, goals, parts }: Report): string {
  const lines = [renderMachine(machine), "The load generator shares the machine with the server; its own CPU is shown."];
  if (parts.length === 1) lines.push(...parts.flatMap((part) => renderPart(part)));
  else lines.push(...parts.flatMap((part) => ["", `# ${part.title}`, part.command, ...renderPart(part)]));
  if (goals.length > 0) lines.push("", ...renderGoals(goals));
  return `${lines.join("\n")}\n`;
}

function renderPart(part: Part): string[] {
  return [...part.facts, ...part.targets.map(renderTarget), ...renderTables(part, part.phases, part.rounds > 1)];
}

export function renderMachine({ processor, cores, memory_gib, system, node, load_before }: Machine): string {
  return `${processor}, ${cores} cores, ${memory_gib} GiB, ${system}, Node ${node}, load ${load_before.toFixed(1)} before`;
}

export function renderTarget({ name, version, durability, start_ms }: TargetRecord): string {
  const start = start_ms === null ? "" : `, first answer after ${start_ms.toFixed(0)} ms`;
  return `${name} ${version}, durability: ${durability}${start}`;
}

/** One table per phase, with the spread of the rounds on request. */
function renderTables(report: Summarized, phases: readonly string[], spread: boolean): string[] {
  const lines: string[] = [];
  const summary = summarize(report);
  for (const phase of phases) {
    const rows = summary.filter((line) => line.phase === phase);
    const notes = report.records
      .filter((record) => record.phase === phase)
      .flatMap(({ target, round, notes }) => notes.map((note) => `${target}, round ${round}: ${note}`));
    lines.push(
      "",
      phase,
      ...renderTable(
        rows,
        report.targets.map(({ name }) => name),
        spread,
      ),
      ...notes.map((note) => `  ${note}`),
    );
  }
  return lines;
}

function renderTable(rows: readonly SummaryLine[], targets: readonly string[], spread: boolean): string[] {
  if (rows.length === 0) return [];
  const compared = targets.length > 1;
  const head = [
    "figure",
    ...targets.flatMap((name) => (spread ? [name, "(least - most)"] : [name])),
    "unit",
    ...(compared ? ["ratio", "95 %"] : []),
  ];
  const cells = rows.map((row) => [
    row.name,
    ...row.targets.flatMap((value) => {
      if (value === null) return spread ? ["-", ""] : ["-"];
      return spread
        ? [shownNumber(value.median), `(${shownNumber(value.least)} - ${shownNumber(value.most)})`]
        : [shownNumber(value.median)];
    }),
    row.unit,
    ...(compared ? [row.ratio === null ? "" : shownNumber(row.ratio), shownInterval(row)] : []),
  ]);
  const widths = head.map((title, n) => Math.max(title.length, ...cells.map((row) => row[n]?.length ?? 0)));
  const unitColumn = head.indexOf("unit");
  const align = (row: readonly string[]) =>
    `  ${row.map((cell, n) => (n === 0 || n === unitColumn ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join("  ")}`.trimEnd();
  return [align(head), ...cells.map(align)];
}

export function shownInterval({ interval }: SummaryLine): string {
  return interval === null ? "" : `${shownNumber(interval.low)} - ${shownNumber(interval.high)}`;
}
