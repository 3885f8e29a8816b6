/**
 * Marks of the course of a run, in the column `runs.marks`: letters with the time at which a stage began, in the order in which
 * they were noted. A number counts microseconds from the run's creation. `@` and a number is the wall clock of the writer while it
 * wrote the commit, and `@` alone repeats the time of the `@` before; a mark that has no number yet gets that time when it is
 * written. What a run waited for follows in quotes, with the runs that held it, up to a semicolon.
 *
 * Marks that do not fit the row are left out: `x` says so, and the end of the run is still marked.
 */

import type { RunStage } from "#protocol/records/timing";

/** The stage that begins with each letter. */
const STAGE_OF_MARK = {
  d: "waiting",
  n: "not_due",
  h: "held",
  z: "restart",
  b: "blocked",
  c: "capped",
  q: "queued",
  m: "handed_out",
  s: "starting",
  r: "running",
  w: "retry",
  k: "parked",
  p: "paused",
  u: "reporting",
  e: "publishing",
  x: "unrecorded",
  f: "ended",
} as const satisfies Readonly<Record<string, RunStage>>;

export type MarkLetter = keyof typeof STAGE_OF_MARK;

/** Length of the marks of a run: some 200 stages. What follows is one stage. */
export const MARKS_LENGTH_MAX = 3_000;

/** The mark of a run that is stored for the first time. */
export const CREATED_MARK = "d@";

/** Both parts, the earlier one first. */
export function joinedMarks(earlier: string | null, later: string | null): string | null {
  return earlier === null || later === null ? (earlier ?? later) : earlier + later;
}

/** The marks with the time of the commit that stores them. */
export function withCommitTime(marks: string, us: number): string {
  return marks.replace("@", `@${us}`);
}

export interface Mark {
  letter: MarkLetter;
  /** Since the Unix epoch. */
  us: number;
  /** What the run waited for. */
  object: string | null;
  /** Runs that held it when the wait began. */
  holders: readonly number[];
}

const NONE: readonly number[] = [];
const MARK = /([a-z])(?:@(\d*)|(\d+))(?:("(?:[^"\\]|\\.)*")([\d,]*);)?/g;

/**
 * The marks of a run. A time before that of an earlier mark counts as that time: the clock of an engine may differ, and a run is
 * handed out before the commit that stores it.
 */
export function readMarks(text: string, createdUs: number): Mark[] {
  let commitUs = createdUs;
  let newestUs = createdUs;
  return Array.from(text.matchAll(MARK), ([, letter, stamp, passed, object, holders]) => {
    if (stamp !== undefined && stamp !== "") commitUs = Number(stamp);
    newestUs = Math.max(newestUs, stamp === undefined ? createdUs + Number(passed) : commitUs);
    return {
      letter: letter as MarkLetter,
      us: newestUs,
      object: object === undefined ? null : (JSON.parse(object) as string),
      holders: holders ? holders.split(",").map(Number) : NONE,
    };
  });
}

/** One stage of a run. `to` is null for the stage that it is in. */
export interface StageSpan {
  stage: RunStage;
  from: number;
  to: number | null;
  object: string | null;
  holders: readonly number[];
}

/** The stages of a run without gaps, from its creation on, but for those without length. */
export function stagesOf(marks: readonly Mark[], createdUs: number, dueUs: number | null): StageSpan[] {
  const spans: StageSpan[] = [];
  let open: StageSpan = { stage: "creating", from: createdUs, to: null, object: null, holders: NONE };
  const begin = (stage: RunStage, from: number, object: string | null = null, holders = NONE): void => {
    if (stage === open.stage && object === open.object) return;
    if (from > open.from) spans.push({ ...open, to: from });
    open = { stage, from, to: null, object, holders };
  };
  for (const { letter, us, object, holders } of marks) {
    // Until its scheduled time a run is not due, whatever was noted of it.
    if (dueUs !== null && isBeforeDue(open, dueUs, us)) {
      begin("not_due", open.from);
      begin("waiting", dueUs);
    }
    begin(STAGE_OF_MARK[letter], us, object, holders);
  }
  return [...spans, open];
}

function isBeforeDue({ stage, from }: StageSpan, dueUs: number, us: number): boolean {
  return (stage === "waiting" || stage === "not_due") && from < dueUs && dueUs < us;
}
