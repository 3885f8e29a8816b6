/** Pieces of Markdown. */

/** A table; cells are Markdown. Columns that are empty in every row are left out. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = heads.map((_head, column) => rows.some((row) => (row[column] ?? "") !== ""));
  const line = (cells: readonly string[]) =>
    `| ${cells
      .filter((_cell, column) => shown[column])
      .map(cellText)
      .join(" | ")} |`;
  return [
    line(heads),
    `|${shown
      .filter(Boolean)
      .map(() => "---")
      .join("|")}|`,
    ...rows.map(line),
  ].join("\n");
}

/** A bar would end the cell, and an angle bracket outside code would start a tag. */
function cellText(text: string): string {
  const pieces = text.replaceAll("\n", " ").replaceAll("|", "\\|").split("`");
  return pieces.map((piece, index) => (index % 2 === 0 ? piece.replaceAll("<", "&lt;") : piece)).join("`");
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** The anchor that Markdown renderers generate for a heading. */
export function anchor(heading: string): string {
  return `#${heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")}`;
}

/** Parts of a page separated by empty lines; empty parts are left out. */
export function page(...parts: (string | null)[]): string {
  return `${parts.filter((part) => part !== null && part !== "").join("\n\n")}\n`;
}

/** The text with a capital first letter. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
