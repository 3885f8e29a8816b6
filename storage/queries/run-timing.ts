/**
 * GET /api/runs/{id}/timing and GET /api/flows/{id}/timing: where the time of runs went.
 *
 * SQLite only: INDEXED BY (nothing: plans are pinned for a connection).
 */
import {
  type FlowTiming,
  RUN_STAGES,
  type RunMoment,
  type RunStage,
  type RunTiming,
  type StageOfRun,
} from "#protocol/records/timing";
import { ENDED_CODES } from "../schema/codes.ts";
import { type Mark, readMarks, type StageSpan, stagesOf } from "../schema/run-marks.ts";
import type { Statements } from "../sqlite/statements.ts";
import { readAll } from "./read-all.ts";

type Row = [
  id: number,
  created_at: number,
  scheduled_time: number | null,
  end_time: number | null,
  attempt: number,
  marks: string,
];

const COLUMNS = "id, created_at, scheduled_time, end_time, attempt, ifnull(marks, '')";

/** Runs of a flow that are compared. */
const RUNS_COMPARED = 100;

/** Null for an unknown run. */
export function runTiming(statements: Statements, id: number, nowUs: number): string | null {
  const row = statements.raw<Row>(`SELECT ${COLUMNS} FROM runs WHERE id = ?`).get(id);
  return row === undefined ? null : JSON.stringify(timingOf(row, nowUs));
}

function timingOf([id, created, due, ended, attempt, text]: Row, nowUs: number): RunTiming {
  const marks = readMarks(text, created);
  const to = endOf(marks) ?? (marks.length === 0 ? ended : null);
  const spans = marks.length === 0 ? [] : stagesOf(marks, created, due).filter((span) => to === null || span.to !== null);
  const until = Math.max(to ?? nowUs, spans.at(-1)?.from ?? created);
  return {
    run_id: id,
    from: created,
    to,
    total_us: Math.max(0, until - created),
    moments: momentsOf(marks, to !== null),
    stages: withAttempts(spans, attempt, until),
  };
}

/** The published end of a run that has not been moved back since. */
function endOf(marks: readonly Mark[]): number | null {
  const last = marks.at(-1);
  return last?.letter === "f" ? last.us : null;
}

/** A retry ends an attempt; the newest attempt is that of the run. */
function withAttempts(spans: readonly StageSpan[], newest: number, until: number): StageOfRun[] {
  const followed = (index: number): boolean => spans.slice(index).some(({ stage }) => stage === "running");
  const retries = spans.filter(({ stage }, index) => stage === "retry" && followed(index)).length;
  let attempt = Math.max(0, newest - retries);
  return spans.map(({ stage, from, to, object }, index) => {
    const own = { stage, attempt, from, to, us: (to ?? until) - from, object };
    if (stage === "retry" && followed(index)) attempt += 1;
    return own;
  });
}

function momentsOf(marks: readonly Mark[], ended: boolean): Record<RunMoment, number | null> {
  const at = marks.findLastIndex(({ letter }) => letter === "m");
  const own = marks.slice(Math.max(0, at));
  const first = (letter: Mark["letter"]): number | null => own.find((mark) => mark.letter === letter)?.us ?? null;
  const last = (letter: Mark["letter"]): number | null => own.findLast((mark) => mark.letter === letter)?.us ?? null;
  const before = marks[at - 1];
  const matched = first("m");
  return {
    durable: marks.find(({ letter }) => letter === "d")?.us ?? null,
    eligible: before?.letter === "q" ? before.us : matched,
    matched,
    delivered: at === -1 ? null : first("s"),
    accepted: at === -1 ? null : first("r"),
    code_ended: ended ? last("u") : null,
    reported: ended ? last("e") : null,
    published: ended ? last("f") : null,
  };
}

/** Null for an unknown flow. */
export function flowTiming(statements: Statements, flow: number): string | null {
  if (statements.raw("SELECT 1 FROM flows WHERE id = ?").get(flow) === undefined) return null;
  const sql = `SELECT ${COLUMNS} FROM runs INDEXED BY runs_ended WHERE end_time IS NOT NULL AND flow_id = ? AND state_type = ?
    ORDER BY id DESC LIMIT ${RUNS_COMPARED}`;
  const newest = readAll<Row>(
    statements,
    ENDED_CODES.map((state) => ({ sql, values: [flow, state] })),
  );
  const timings = newest
    .sort(([a], [b]) => b - a)
    .slice(0, RUNS_COMPARED)
    .map((row) => timingOf(row, 0))
    .filter(({ to, moments }) => to !== null && moments.matched !== null);
  const totals = timings.map(({ total_us }) => total_us);
  const answer: FlowTiming = {
    flow_id: flow,
    runs: timings.length,
    total_p50_us: percentile(totals, 0.5),
    total_p95_us: percentile(totals, 0.95),
    stages: (Object.keys(RUN_STAGES) as RunStage[]).flatMap((stage) => summed(timings, stage)),
  };
  return JSON.stringify(answer);
}

function summed(timings: readonly RunTiming[], stage: RunStage): FlowTiming["stages"] {
  const lengths = timings.map(({ stages }) => stages.reduce((sum, each) => sum + (each.stage === stage ? each.us : 0), 0));
  const runs = lengths.filter((us) => us > 0).length;
  if (runs === 0) return [];
  const sum_us = lengths.reduce((sum, us) => sum + us, 0);
  return [{ stage, runs, p50_us: percentile(lengths, 0.5), p95_us: percentile(lengths, 0.95), sum_us }];
}

/** The smallest value that is not exceeded by this share of the values; 0 without any. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}
