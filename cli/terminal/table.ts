/** Tables as text: aligned columns on a terminal, the same columns without truncation in a pipe. */

import { displayWidth, type Style, type Terminal, truncate } from "./terminal.ts";

export interface Column<Row> {
  head: string;
  /** The text of a cell, on one line and without styles. */
  cell(row: Row): string;
  style?(row: Row): Style | null;
  /** Right for figures. Default left. */
  align?: "left" | "right";
  /** This column is truncated first when the terminal is narrow. Default: never truncated. */
  shrink?: boolean;
}

const GAP = "  ";
/** A column is never truncated below this width. */
const SHRUNK_MIN = 8;

/** The lines of a table with its head; only the head without rows. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], terminal: Terminal): string[] {
  const texts = rows.map((row) => columns.map((column) => column.cell(row).replaceAll("\n", " ")));
  const widths = columns.map((column, index) =>
    Math.max(displayWidth(column.head), ...texts.map((cells) => displayWidth(cells[index] ?? ""))),
  );
  shrink(columns, widths, terminal.columns);
  const lay = (cells: string[], styleOf: (column: Column<Row>) => Style | null) =>
    columns
      .map((column, index) => {
        const cell = fit(cells[index] ?? "", widths[index] ?? 0, column.align ?? "left", index === columns.length - 1);
        const style = styleOf(column);
        return style === null ? cell : terminal.paint(style, cell);
      })
      .join(GAP)
      .trimEnd();
  const head = lay(
    columns.map((column) => column.head),
    () => "dim",
  );
  return [head, ...rows.map((row, index) => lay(texts[index] ?? [], (column) => column.style?.(row) ?? null))];
}

/** Narrows the columns that may shrink, the widest first. */
function shrink<Row>(columns: readonly Column<Row>[], widths: number[], available: number): void {
  let excess = widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1)) - available;
  while (excess > 0) {
    const candidates = widths
      .map((width, index) => ({ width, index }))
      .filter(({ width, index }) => columns[index]?.shrink === true && width > SHRUNK_MIN);
    const widest = candidates.reduce<{ width: number; index: number } | null>(
      (best, candidate) => (best === null || candidate.width > best.width ? candidate : best),
      null,
    );
    if (widest === null) return;
    widths[widest.index] = widest.width - 1;
    excess -= 1;
  }
}

function fit(text: string, width: number, align: "left" | "right", last: boolean): string {
  const cut = truncate(text, width);
  const blanks = " ".repeat(Math.max(0, width - displayWidth(cut)));
  if (align === "right") return blanks + cut;
  return last ? cut : cut + blanks;
}
