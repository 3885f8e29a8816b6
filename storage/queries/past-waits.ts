/** GET /api/runs/{id}/waited: why a run started late or was skipped, and which runs were in its way, from the marks in its row. */
import type { PastWait } from "#protocol/records/queue";
import type { RunStage } from "#protocol/records/timing";
import { type Mark, readMarks, type StageSpan, stagesOf } from "../schema/run-marks.ts";
import type { Statements } from "../sqlite/statements.ts";

type Row = [created_at: number, scheduled_time: number | null, marks: string, module: string];

/** The stages in which a run waits, each as a sentence; `module` is that of its flow. */
const WORDS: Readonly<Partial<Record<RunStage, (span: StageSpan, module: string) => string>>> = {
  not_due: () => "its scheduled time had not come",
  held: () => "its backfill was being checked or cancelled",
  waiting: () => "what it waited for was not recorded",
  restart: ({ from }) => `the server, or its core, did not run for a part of the time since ${timeText(from)}`,
  blocked: ({ object, holders }) => `it waited for ${object ?? ""}${heldBy(holders)}`,
  capped: () => "as many runs as may run at a time ([server] max_running) were with their engines",
  queued: (_span, module) => `no engine for the module ${module} was free`,
  retry: () => "it waited for its next attempt",
  parked: () => "it had left its engine to wait",
  paused: () => "it waited for an answer",
};

/** The waits that have ended, or those of this moment, the earliest first; null for an unknown run. */
export function pastWaits(statements: Statements, id: number, atUs: number | null): string | null {
  const sql = `SELECT r.created_at, r.scheduled_time, ifnull(r.marks, ''), f.module FROM runs r JOIN flows f ON f.id = r.flow_id
    WHERE r.id = ?`;
  const row = statements.raw<Row>(sql).get(id);
  if (row === undefined) return null;
  const [created, due, text, module] = row;
  const marks = readMarks(text, created);
  const spans = stagesOf(marks, created, due).filter(({ to }) => to !== null);
  const waits = spans.flatMap((span) => {
    const words = WORDS[span.stage]?.(span, module);
    return words === undefined ? [] : [waitOf(statements, span, words)];
  });
  const overlap = overlapOf(marks);
  if (overlap !== null) waits.push(waitOf(statements, overlap, `it ended at once: ${whatOverlapped(overlap)}`));
  return JSON.stringify(atUs === null ? waits : waits.filter((wait) => isAt(wait, atUs)));
}

/** A run that its overlap policy ended stays ended, so this explains each moment. */
function isAt({ from, to }: PastWait, atUs: number): boolean {
  return to === from || (from <= atUs && atUs < to);
}

/** What blocked a run that ended in the same step. */
function overlapOf(marks: readonly Mark[]): StageSpan | null {
  const index = marks.findIndex(({ letter }, at) => letter === "b" && marks[at + 1]?.letter === "e");
  const mark = marks[index];
  if (mark === undefined || marks[index + 1]?.us !== mark.us) return null;
  return { stage: "blocked", from: mark.us, to: mark.us, object: mark.object, holders: mark.holders };
}

function whatOverlapped({ object, holders }: StageSpan): string {
  return holders.length === 0 ? `all of ${object ?? ""} was taken` : `${runsText(holders)} of its flow had not ended`;
}

function waitOf(statements: Statements, { stage, from, to, object, holders }: StageSpan, text: string): PastWait {
  const nameOf = (run: number): string => statements.raw<[string]>("SELECT name FROM runs WHERE id = ?").get(run)?.[0] ?? "";
  const runs = holders.map((run_id) => ({ run_id, run_name: nameOf(run_id) }));
  return { stage, from, to: to ?? from, text, object, holders: runs };
}

function heldBy(holders: readonly number[]): string {
  return holders.length === 0 ? "" : `, which ${runsText(holders)} held when the wait began`;
}

function runsText(holders: readonly number[]): string {
  return holders.length === 1 ? `run ${holders[0]}` : `runs ${holders.join(", ")}`;
}

function timeText(us: number): string {
  return new Date(us / 1_000).toISOString();
}
