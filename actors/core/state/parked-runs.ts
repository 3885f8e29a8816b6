/**
 * Parked runs: the newest of them are in memory, the others in the store, with their lineages and their open waits. A run is
 * recalled when it is looked up by its id, its lineage or one of its waits. What is known of the others is their flow; the times
 * at which their waits end are among the deadlines, and waits for events stay in memory, where each event is compared with them.
 *
 * A run leaves memory once its last change is committed, so that what is recalled is what a start would load.
 */
import type { DurableBook, DurableReader, RunDurable, StoredLineage, StoredWait } from "./durable.ts";
import { newDurable } from "./durable.ts";
import type { Flow } from "./flow.ts";
import type { Run } from "./run.ts";
import { UNSTARTED } from "./run.ts";
import type { RunRoom } from "./run-room.ts";
import type { ScheduleBook } from "./schedule.ts";

/** A row of `parks`, with the columns of the row operation put_park. */
export interface StoredPark {
  run_id: number;
  parked: number;
  wake_at: number | null;
  waits: string | null;
  holds: number;
  ran: number;
  progress: string | null;
}

/** Parked runs of the store, without their task runs. */
export interface StoredParked {
  runs: Run[];
  parks: readonly StoredPark[];
  /** Rows of their lineages, by id. */
  lineages: ReadonlyMap<number, StoredLineage>;
  /** Their open waits, by id. */
  waits: readonly StoredWait[];
}

/** What runs are looked for by: lineages, open waits, or the hash of an open callback's token. */
interface ParkedKeys {
  lineages: readonly number[];
  waits?: readonly number[];
  callback?: string;
}

/** Reads of committed rows, many at once. */
export interface ParkedReader extends DurableReader {
  readParked(ids: readonly number[]): StoredParked;
  /** Ids of the unfinished runs with one of these keys. */
  findParked(keys: ParkedKeys): number[];
}

export interface ParkedPorts {
  readonly reader: ParkedReader;
  readonly runs: Map<number, Run>;
  readonly room: RunRoom;
  readonly schedules: ScheduleBook;
  readonly durable: DurableBook;
  /** Open waits of parked runs in memory; each run counts as one more. */
  readonly mostWaits: number;
}

/** For a server: some 5 MB. A run that many children wake again and again stays in memory. */
export const PARKED_WAITS_MAX = 4_000;

interface Entry {
  /** The step that changed the run or its waits last; 0 if it was recalled. */
  turn: number;
  weight: number;
}

/** Runs recalled by one read. */
const RECALLED_AT_ONCE = 1_000;

export class ParkedRuns {
  readonly #ports: ParkedPorts;
  /** Those in memory that may leave it, in order of their last change. */
  readonly #here = new Map<Run, Entry>();
  #weight = 0;
  /** Those in the store alone. */
  readonly #away = new Map<number, Flow>();

  constructor(ports: ParkedPorts) {
    this.#ports = ports;
  }

  /** Ids of the runs in the store alone. */
  awayIds(): Iterable<number> {
    return this.#away.keys();
  }

  /** Adds a run of the store at a start. */
  addAway(id: number, flow: Flow): void {
    this.#away.set(id, flow);
    this.#ports.room.reserve(1);
    flow.away += 1;
  }

  /** The run, or its waits, were changed in step `turn`. */
  note(run: Run, turn: number): void {
    this.forget(run);
    const park = run.durable?.park ?? null;
    if (park === null) return;
    const weight = 1 + park.waits.length;
    this.#here.set(run, { turn, weight });
    this.#weight += weight;
  }

  forget(run: Run): void {
    this.#weight -= this.#here.get(run)?.weight ?? 0;
    this.#here.delete(run);
  }

  /** Removes the oldest runs from memory beyond the limit, if their last change is committed. Between steps only. */
  trim(committedTurn: number): void {
    for (const [run, { turn }] of this.#here) {
      if (this.#weight <= this.#ports.mostWaits || turn > committedTurn) return;
      this.forget(run);
      if (this.#mayLeave(run)) this.#leave(run);
    }
  }

  /** As in storage/load/load-durable.ts. */
  #mayLeave(run: Run): boolean {
    const { schedules } = this.#ports;
    if (run.durable === null || run.durable.holds || run.backfill_id !== null) return false;
    const schedule = schedules.get(run.schedule_id ?? 0);
    return schedule === undefined || (!schedules.holds(run) && schedule.runs.get(run.scheduled_time ?? 0) !== run);
  }

  #leave(run: Run): void {
    const { runs, room, durable } = this.#ports;
    runs.delete(run.id);
    room.forget(run);
    room.reserve(1);
    // The answer about its newest move must find no object that has left memory.
    run.lastCommand = 0;
    if (run.durable !== null && run.durable.lineageId !== null) durable.leave(run.durable.lineageId);
    this.#away.set(run.id, run.flow);
  }

  /** Brings these runs back to memory; others are ignored. */
  recall(ids: readonly number[]): void {
    const away = ids.filter((id) => this.#away.has(id));
    for (let index = 0; index < away.length; index += RECALLED_AT_ONCE) this.#recall(away.slice(index, index + RECALLED_AT_ONCE));
  }

  recallFlow(flow: Flow): void {
    this.recall(this.awayOf(flow, this.#away.size));
  }

  /** Ids of runs of a flow in the store alone. */
  awayOf(flow: Flow, most: number): number[] {
    const ids: number[] = [];
    for (const [id, each] of this.#away) {
      if (ids.length >= most) break;
      if (each === flow) ids.push(id);
    }
    return ids;
  }

  /** Brings the runs of these lineages back to memory. */
  recallLineages(ids: readonly number[]): void {
    if (this.#away.size === 0) return;
    const unknown = ids.filter((id) => !this.#ports.durable.has(id));
    if (unknown.length > 0) this.#recallBy({ lineages: unknown });
  }

  /** Brings the runs of these open waits back to memory. */
  recallWaits(ids: readonly number[]): void {
    if (this.#away.size === 0) return;
    const { durable } = this.#ports;
    const { known, unknown } = durable.lineagesOf(ids);
    const lineages = known.filter((id) => !durable.has(id));
    if (lineages.length + unknown.length > 0) this.#recallBy({ lineages, waits: unknown });
  }

  /** Brings the run that waits for a callback back to memory. */
  recallCallback(tokenHash: string): void {
    if (this.#away.size > 0) this.#recallBy({ lineages: [], callback: tokenHash });
  }

  #recallBy(keys: ParkedKeys): void {
    this.recall(this.#ports.reader.findParked(keys));
  }

  #recall(ids: readonly number[]): void {
    const { reader, runs, room, durable } = this.#ports;
    const stored = reader.readParked(ids);
    const parks = new Map(stored.parks.map((park) => [park.run_id, park]));
    for (const run of stored.runs) {
      const park = parks.get(run.id);
      if (park !== undefined) restorePark(run, park);
      this.#away.delete(run.id);
      runs.set(run.id, run);
      room.reserve(-1);
      room.count(run);
    }
    const waits = Map.groupBy(stored.waits, ({ lineage_id }) => lineage_id);
    for (const run of stored.runs) {
      const id = run.durable?.lineageId ?? null;
      if (id !== null) durable.comeBack(run, id, stored.lineages.get(id) ?? null, waits.get(id) ?? []);
      this.note(run, 0);
    }
  }
}

/** Gives a run of the store what it goes on with; its flow counts it already. */
export function restorePark(run: Run, { parked, wake_at, waits, holds, ran, progress }: StoredPark): void {
  run.durable ??= newDurable(null, null);
  const { durable } = run;
  durable.stored = true;
  durable.ranUs = ran;
  durable.progress = progress;
  if (parked === 1) durable.park = { wakeAt: wake_at, waits: JSON.parse(waits ?? "[]") as number[] };
  durable.away = !run.assigned;
  durable.holds = holds === 1 && durable.away;
  if (durable.park !== null) leaveTaskRuns(run, durable);
}

/** The task runs of a parked run are in the store; it gets new task runs when it goes on. */
export function leaveTaskRuns(run: Run, durable: RunDurable): void {
  run.tasks = UNSTARTED.tasks;
  run.parentsCount = 0;
  durable.partial = true;
}
