/**
 * Notes the course of a run (storage/schema/run-marks.ts). A mark is stored with the row that a step writes anyway; a wait is
 * marked when it ends, so that a run that waits takes no memory for it.
 */
import { isTerminal, type StateType } from "#protocol/records/state";
import { CREATED_MARK, MARKS_LENGTH_MAX, type MarkLetter } from "#storage/schema/run-marks";
import type { Run, WaitReason } from "./run.ts";

/** Ends are marked up to this length: a run can be moved out of its end. */
const ENDS_LENGTH_MAX = 2 * MARKS_LENGTH_MAX;
/** Digits that the writer adds to the time of a commit. */
const COMMIT_DIGITS = 16;

/** Length of the mark that a run has from its creation on. */
export const CREATED_LENGTH = CREATED_MARK.length + COMMIT_DIGITS;

const LETTER_OF_WAIT: Readonly<Record<WaitReason["code"], MarkLetter>> = {
  not_due: "n",
  held: "h",
  resource: "b",
  no_engine: "q",
  max_running: "c",
};

/** States in which a run that has begun waits; others wait for an engine, in the queue. */
const LETTER_OF_NAME: ReadonlyMap<string, MarkLetter> = new Map([
  ["AwaitingRetry", "w"],
  ["Sleeping", "k"],
  ["AwaitingEvent", "k"],
  ["AwaitingChild", "k"],
]);

/** The run waits for this from now on; a wait for the same thing goes on. */
export function beginWait(run: Run, waiting: WaitReason): void {
  if (run.waiting?.code === waiting.code && run.waiting.object === waiting.object) return;
  endWait(run, waiting.sinceUs);
  run.waiting = waiting;
}

/** Marks the wait that ends now. */
export function endWait(run: Run, nowUs: number): void {
  const { waiting } = run;
  run.waiting = null;
  if (waiting === null) return;
  const { code, object, sinceUs, holders, beforeUs } = waiting;
  if (beforeUs !== undefined) add(run, "z", beforeUs);
  if (sinceUs >= nowUs) return;
  add(run, LETTER_OF_WAIT[code], sinceUs, code === "resource" && object !== null ? cause(object, holders) : "");
}

/** The run is about to end because these runs of its flow have not. */
export function markOverlap(run: Run, resource: string, holders: readonly number[], nowUs: number): void {
  add(run, "b", nowUs, cause(resource, holders));
}

function cause(object: string, holders: readonly number[] = []): string {
  return `${quoted(object)}${holders.join()};`;
}

/** The run is given to an engine, whose answer leaves after the commit. */
export function markHandOut(run: Run, nowUs: number): void {
  add(run, "m", nowUs);
  addCommit(run, "s");
}

/** Marks a move. What its engine did is marked by the engine's time, as long as that is not to come. */
export function markMove(run: Run, before: StateType, byEngine: boolean, nowUs: number): void {
  const { type, name, timestamp } = run.state;
  const us = byEngine ? Math.min(timestamp, nowUs) : nowUs;
  // A person may move a run that waits.
  if (type !== "Scheduled") endWait(run, nowUs);
  if (isTerminal(type)) {
    if (byEngine && (before === "Running" || before === "Cancelling")) add(run, "u", us, "", ENDS_LENGTH_MAX);
    add(run, "e", nowUs, "", ENDS_LENGTH_MAX);
    addCommit(run, "f", ENDS_LENGTH_MAX);
  } else if (type === "Running") add(run, "r", us);
  else if (type === "Paused") add(run, "p", us);
  else {
    const waits = type === "Scheduled" ? LETTER_OF_NAME.get(name) : undefined;
    // A run that a person moved out of its end waits again.
    const letter = waits ?? (isTerminal(before) ? "d" : undefined);
    if (letter !== undefined) add(run, letter, us);
  }
}

function add(run: Run, letter: MarkLetter, us: number, object = "", most = MARKS_LENGTH_MAX): void {
  // Engines' times may have fractions.
  append(run, letter, String(Math.max(0, Math.round(us - run.created_at))), object, most);
}

function addCommit(run: Run, letter: MarkLetter, most = MARKS_LENGTH_MAX): void {
  append(run, letter, "@", "", most);
}

function append(run: Run, letter: MarkLetter, time: string, object: string, most: number): void {
  // A run from before its creation was marked has none.
  if (run.marksLength === 0 || run.marksLength > most) return;
  run.marksLength += 1 + time.length + object.length + (time === "@" ? COMMIT_DIGITS : 0);
  run.marks += run.marksLength > most ? `x${time}` : letter + time + object;
}

/** As JSON in ASCII, without the sign that stands for the time of a commit. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/[@\u0080-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
