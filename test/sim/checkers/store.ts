/** The store matches the commits, and its counts match a recount. */

import { checkStore } from "#storage/invariants/check-store";
import { loadStore } from "#storage/load/load";
import { STRETCH_IDS, stateType } from "#storage/schema/codes";
import { readLines } from "#storage/schema/log-blocks";
import type { SimulatedDisk } from "../simulated-disk.ts";
import { Violation } from "../trace.ts";
import type { Checker, Commit, Operation } from "./checker.ts";
import type { History } from "./history.ts";

const RULE = "the store holds what was committed";

type RunColumns = [
  id: number,
  type: number,
  name: string | null,
  timestamp: number,
  assignment: number | null,
  assigned: number,
  reportSeq: number,
];

const RUNS = "SELECT id, state_type, state_name, state_timestamp, assignment_id, assigned, report_seq FROM runs ORDER BY id";
const TASKS = "SELECT id, state_type, state_timestamp FROM task_runs ORDER BY id";
const LINES = "SELECT lines FROM log_blocks ORDER BY id";
const RECOUNT = `SELECT flow_id, 0, state_type, count(*) FROM runs GROUP BY flow_id, state_type
  UNION ALL SELECT runs.flow_id, 1, task_runs.state_type, count(*) FROM task_runs JOIN runs ON runs.id = run_id
  GROUP BY runs.flow_id, task_runs.state_type`;
const COUNTS = "SELECT flow_id, kind, state_type, count FROM counts WHERE count <> 0";
const EVENTS_BY_STRETCH = `SELECT id / ${STRETCH_IDS}, count(*) FROM events GROUP BY 1`;
/** Rows whose run does not exist any more. */
const ORPHANS = `SELECT 'task run', id FROM task_runs WHERE run_id NOT IN (SELECT id FROM runs)
  UNION ALL SELECT 'lease', id FROM leases WHERE run_id NOT IN (SELECT id FROM runs)
  UNION ALL SELECT 'log block', id FROM log_blocks WHERE run_id NOT IN (SELECT id FROM runs)
  UNION ALL SELECT 'answer', ordinal FROM answers WHERE run_id NOT IN (SELECT id FROM runs)
  UNION ALL SELECT 'artifact', id FROM artifacts WHERE run_id NOT IN (SELECT id FROM runs)`;

export class StoreChecker implements Checker {
  readonly #disk: SimulatedDisk;
  /** Log lines by run, in the order committed. */
  readonly #lines: [run: number, line: string][] = [];

  /** True once retention has deleted something. */
  #trimmed = false;

  constructor(disk: SimulatedDisk) {
    this.#disk = disk;
  }

  operation(operation: Operation): void {
    if (operation.name === "trim_history") this.#trimmed = true;
  }

  commit({ batch }: Commit): void {
    for (let at = 0; at < batch.logs.length; at += 5) {
      const lines = JSON.parse(String(batch.logs[at + 4])) as unknown[];
      for (const line of lines) this.#lines.push([Number(batch.logs[at]), JSON.stringify(line)]);
    }
  }

  look(history: History): void {
    this.#runs(history);
    this.#same(
      "task runs",
      this.#all<[number, number, number]>(TASKS).map(([id, type, at]) => `${id} ${stateType(type)} ${at}`),
      [...[...history.tasks.values()].sort((a, b) => a.id - b.id).map((task) => `${task.id} ${task.type} ${task.timestamp}`)],
    );
    this.#same(
      "leases",
      loadStore(this.#disk.database).leases.map((lease) => lease.id),
      [...history.leases.keys()].sort((a, b) => a - b),
    );
    const text = (row: unknown[]): string => row.join(" ");
    this.#same("counts", this.#all<unknown[]>(COUNTS).map(text).sort(), this.#all<unknown[]>(RECOUNT).map(text).sort());
    this.#events(history.events);
    const orphan = this.#all<[string, number]>(ORPHANS)[0];
    if (orphan !== undefined) throw new Violation("rows have owners", `${orphan[0]} ${orphan[1]} is of a run that is not there`);
  }

  atRest(history: History): void {
    this.look(history);
    const stored = this.#all<[string | Uint8Array]>(LINES).flatMap(([lines]) =>
      readLines(lines).map((line) => JSON.stringify(line)),
    );
    const kept = this.#lines.filter(([run]) => history.runs.has(run)).map(([, line]) => line);
    this.#same("log lines", stored, this.#trimmed ? kept.slice(kept.length - stored.length) : kept);
    const integrity = this.#disk.database.pragma("integrity_check");
    if (integrity !== "ok") throw new Violation(RULE, `integrity check: ${String(integrity)}`);
    for (const { id, findings } of checkStore(this.#disk.database, { totals: null, open: () => null }))
      for (const { level, text } of findings) if (level === "broken") throw new Violation(`invariant ${id}`, text);
  }

  /** Every event exists; retention deletes whole stretches, never the newest. */
  #events(newest: number): void {
    const stretches = new Map(this.#all<[number, number]>(EVENTS_BY_STRETCH));
    for (let first = 0; first <= newest; first += STRETCH_IDS) {
      const expected = Math.min(newest + 1, first + STRETCH_IDS) - Math.max(1, first);
      const stored = stretches.get(first / STRETCH_IDS) ?? 0;
      const isGone = this.#trimmed && stored === 0 && first + STRETCH_IDS <= newest;
      if (!isGone) this.#same(`events from ${first} on`, [stored], [Math.max(0, expected)]);
    }
  }

  #runs(history: History): void {
    const stored = this.#all<RunColumns>(RUNS).map(([id, code, name, timestamp, assignment, assigned, seq]) => {
      const type = stateType(code);
      return `${id} ${type} ${name ?? type} ${timestamp} ${assigned === 1} ${assignment ?? 0} ${seq}`;
    });
    const known = [...history.runs.values()]
      .sort((a, b) => a.id - b.id)
      .map(
        (run) =>
          `${run.id} ${run.type} ${run.name} ${run.timestamp} ${run.assignment !== null} ${run.newestAssignment} ${run.reportSeq}`,
      );
    this.#same("runs", stored, known);
  }

  #same(what: string, stored: readonly unknown[], expected: readonly unknown[]): void {
    for (let at = 0; at < Math.max(stored.length, expected.length); at += 1) {
      if (stored[at] === expected[at]) continue;
      throw new Violation(RULE, `${what}: stored ${String(stored[at])}, expected ${String(expected[at])}`);
    }
  }

  #all<Row>(sql: string): Row[] {
    return this.#disk.database.prepareRaw<Row>(sql).all();
  }
}
