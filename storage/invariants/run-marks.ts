/** I14: the stages of a run follow each other, and add up to the time from its creation to its end. */

import { STRETCH_IDS } from "../schema/codes.ts";
import { MARKS_LENGTH_MAX, type MarkLetter, readMarks, stagesOf } from "../schema/run-marks.ts";
import type { Statements } from "../sqlite/statements.ts";
import { type Invariant, told } from "./invariant.ts";

type Row = [
  id: number,
  created_at: number,
  scheduled_time: number | null,
  end_time: number | null,
  assigned: number,
  marks: string,
];

/** What may come before each mark; marks that are missing here may follow any other. */
const BEFORE: Readonly<Partial<Record<MarkLetter, string>>> = { s: "m", f: "e" };
/** The newest runs that are looked at: a million of them would take ten seconds. */
const RUNS_CHECKED = 4 * STRETCH_IDS;

/** What is wrong with the marks of a run, or null. */
function faultOf([, created, due, ended, assigned, text]: Row): string | null {
  const marks = readMarks(text, created);
  if (!text.startsWith("d@")) return "does not begin with its creation";
  const wrong = marks.findIndex(({ letter }, index) => {
    const wanted = BEFORE[letter];
    return wanted !== undefined && !wanted.includes(marks[index - 1]?.letter ?? "-");
  });
  if (wrong !== -1) return `has ${marks[wrong]?.letter} after ${marks[wrong - 1]?.letter ?? "nothing"}`;
  const last = marks.at(-1);
  // The marks of a run that was moved out of its end many times are full.
  const isFull = text.length > MARKS_LENGTH_MAX;
  if ((ended !== null) !== (last?.letter === "f") && !isFull) return ended === null ? "has an end" : "has no end";
  if (assigned === 1 && !isFull && !marks.some(({ letter }) => letter === "m")) return "has no hand-out";
  return sumFault(marks, created, due);
}

function sumFault(marks: ReturnType<typeof readMarks>, created: number, due: number | null): string | null {
  let us = created;
  for (const { stage, from, to } of stagesOf(marks, created, due)) {
    if (from !== us) return `has a gap before ${stage}`;
    if (to !== null && to < from) return `has ${stage} end before it begins`;
    us = to ?? from;
  }
  // A mark that repeats the one before begins no stage: a person may pause a run that is paused.
  const newest = marks.findLast(({ letter, object }, at) => marks[at - 1]?.letter !== letter || marks[at - 1]?.object !== object);
  return us === (newest?.us ?? created) ? null : "has stages that do not add up";
}

export const STAGES_ADD_UP: Invariant = {
  id: "I14",
  title: "the stages of a run follow each other and add up to its time from its creation to its published end",
  unchecked: `runs before the newest ${RUNS_CHECKED}`,
  check: (statements: Statements) => {
    // Runs from before the marks were recorded have none: NULL, or an empty text once they have moved since.
    const rows = statements
      .raw<Row>(
        `SELECT id, created_at, scheduled_time, end_time, assigned, marks FROM runs WHERE marks <> ''
         ORDER BY id DESC LIMIT ${RUNS_CHECKED}`,
      )
      .all();
    return told(
      rows.flatMap((row) => {
        const fault = faultOf(row);
        return fault === null ? [] : [`the course of run ${row[0]} ${fault}: ${row[5].slice(0, 200)}`];
      }),
    );
  },
};
