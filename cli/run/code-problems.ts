/** Problems of the served directory, as `serve`, `flows ls`, `status` and `run` show them. */
import type { CodeProblem } from "#protocol/records/server";
import { counted } from "../terminal/format.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";

const MARKS = { file: "\u25a0", part: "\u25a0", warning: "\u25c6" } as const;

/** One paragraph for parts that cannot be used and one for likely mistakes; no lines without problems. */
export function problemLines(problems: readonly CodeProblem[], terminal: Terminal): string[] {
  const unused = problems.filter(({ kind }) => kind !== "warning");
  const warnings = problems.filter(({ kind }) => kind === "warning");
  return [
    ...paragraph(unused, `${unusedText(unused)} could not be used:`, "red", terminal),
    ...paragraph(warnings, "Probably meant otherwise:", "yellow", terminal),
  ];
}

function unusedText(unused: readonly CodeProblem[]): string {
  const files = unused.filter(({ kind }) => kind === "file").length;
  return files === unused.length ? counted(files, "file") : "Files, or something in them,";
}

function paragraph(problems: readonly CodeProblem[], head: string, style: "red" | "yellow", terminal: Terminal): string[] {
  if (problems.length === 0) return [];
  const lines = ["", terminal.paint(style, head)];
  for (const { module, kind, error } of problems) {
    const [first = "", ...rest] = printable(error).split("\n");
    lines.push(`${terminal.paint(style, MARKS[kind])} ${terminal.paint("bold", printable(module))}  ${first}`);
    lines.push(...rest.map((line) => `  ${terminal.paint("dim", line)}`));
  }
  return lines;
}
