/** The report as text: what was measured where, then one aligned table per phase. */
import type { LoadReport } from "./load-test.ts";
import type { Machine } from "./machine.ts";
import { type Summarized, type SummaryLine, summarize } from "./summary.ts";

export function renderReport(report: LoadReport): string {
  const { machine, options, targets } = report;
  const what = options.tasks + options.logs === 0 ? "bare runs" : `runs of ${options.tasks} tasks and ${options.logs} log lines`;
  const window = options.runs === null ? `${options.seconds} s each` : `${options.runs} runs each`;
  const lines = [
    renderMachine(machine),
    `${what}; ${options.engines} engines, ${options.creators} creators, at most ${options.inFlight} in flight; ${options.rounds} rounds, ${window}; seed ${options.seed}`,
    ...targets.map(
      ({ name, version, durability, start_ms }) =>
        `${name} ${version}, durability: ${durability}${start_ms === null ? "" : `, first answer after ${start_ms.toFixed(0)} ms`}`,
    ),
    "The load generator shares the machine with the server; its own CPU is shown.",
  ];
  return `${[...lines, ...renderTables(report, options.phases, options.rounds > 1)].join("\n")}\n`;
}

export function renderMachine({ processor, cores, memory_gib, system, node, load_before }: Machine): string {
  return `${processor}, ${cores} cores, ${memory_gib} GiB, ${system}, Node ${node}, load ${load_before.toFixed(1)} before`;
}

/** One table per phase, with the spread of the rounds on request. */
export function renderTables(report: Summarized, phases: readonly string[], spread: boolean): string[] {
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
      return spread ? [shown(value.median), `(${shown(value.least)} - ${shown(value.most)})`] : [shown(value.median)];
    }),
    row.unit,
    ...(compared ? [row.ratio === null ? "" : shown(row.ratio), shownInterval(row)] : []),
  ]);
  const widths = head.map((title, n) => Math.max(title.length, ...cells.map((row) => row[n]?.length ?? 0)));
  const unitColumn = head.indexOf("unit");
  const align = (row: readonly string[]) =>
    `  ${row.map((cell, n) => (n === 0 || n === unitColumn ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join("  ")}`.trimEnd();
  return [align(head), ...cells.map(align)];
}

function shownInterval({ interval }: SummaryLine): string {
  return interval === null ? "" : `${shown(interval.low)} - ${shown(interval.high)}`;
}

/** Three digits that matter, whole numbers from a hundred on. */
function shown(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3);
}
