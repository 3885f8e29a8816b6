/**
 * Durable runs in memory: the lineages of unfinished runs, their open waits, and what a run goes on with after it has left its
 * engine. Settled waits are in the store, overlaid by those that are not committed.
 */
import type { WaitKind } from "#protocol/records/durable";
import { type AwaitedEvent, type EventFilter, filterOf } from "./awaited-event.ts";
import { RecentRows } from "./recent-rows.ts";
import type { Run } from "./run.ts";

/** A stored wait, with the columns of the row operation put_wait. */
export interface StoredWait {
  id: number;
  lineage_id: number;
  identity: string;
  place: string;
  kind: WaitKind;
  name: string;
  spec: string | null;
  due: number | null;
  child_lineage_id: number | null;
  token_hash: string | null;
  created_at: number;
  settled_at: number | null;
  outcome: string | null;
  event_id: number | null;
}

export interface Lineage {
  /** Id of its first run. */
  readonly id: number;
  /** Number of its callers. */
  readonly depth: number;
  /** The wait that its end settles; null if it is not a child. */
  readonly callerWait: number | null;
  readonly origin: ForkOrigin | null;
  /** Its unfinished run; null while it waits for a crash rerun, and after its end. */
  run: Run | null;
  /** Its open waits by identity, the oldest first. */
  waits: ReadonlyMap<string, StoredWait>;
  /** Whether the run has steps, or waits, to read: of its own or of its origin. Null: the store has to be asked. */
  hasSteps: boolean | null;
  hasWaits: boolean | null;
  /** Its wait that was settled last; 0: none. Null: only the store knows. */
  settledWait: number | null;
}

/** What a lineage was forked from. */
export interface ForkOrigin {
  id: number;
  beforeTask: number | null;
  beforeTime: number | null;
}

/** A run that waits without an engine. */
export interface Park {
  /** Ids of its open waits: the first one to settle wakes the run. */
  waits: readonly number[];
  /** The end of its retry delay. */
  wakeAt: number | null;
}

/** What only runs have that are durable, were called by a run, or have left their engine for a wait. */
export interface RunDurable {
  lineageId: number | null;
  callerRunId: number | null;
  park: Park | null;
  /** From its park until it is handed out again: the run has started, and counts as active for its overlap policy. */
  away: boolean;
  /** The run keeps its resources while it is away. */
  holds: boolean;
  /** Time of its time limit that has passed before its current hand-out. */
  ranUs: number;
  /** JSON text of the engine, sent back with the run. */
  progress: string | null;
  /** A row of the run is in `parks`. */
  stored: boolean;
  /** Its task runs from before a park are in the store alone (LiveState.taskRunsOf). */
  partial: boolean;
}

export function newDurable(lineageId: number | null, callerRunId: number | null): RunDurable {
  const waiting = { park: null, away: false, holds: false, ranUs: 0, progress: null, stored: false, partial: false };
  return { lineageId, callerRunId, ...waiting };
}

/** A lineage that was forked or called, with columns of the row operation put_lineage. */
export interface StoredLineage {
  origin_id: number | null;
  before_task: number | null;
  before_time: number | null;
  depth: number;
  caller_wait: number | null;
}

/** Reads of committed rows. */
export interface DurableReader {
  /** Null for a lineage that was neither forked nor called. */
  readLineage(id: number): StoredLineage | null;
  hasRows(table: "steps" | "waits", lineageId: number): boolean;
  findWait(lineageId: number, identity: string): StoredWait | null;
  newestRunOf(lineageId: number): number | null;
  /** Whether a committed event is later than the first start of a lineage, and has settled none of its waits. */
  isEventOf(lineageId: number, event: Pick<AwaitedEvent, "id" | "name">): boolean;
}

/** Shared, because most lineages have no open wait. */
const NO_WAITS: ReadonlyMap<string, StoredWait> = new Map();

/** Parked runs that are in the store alone (parked-runs.ts). */
interface Away {
  recallLineages(ids: readonly number[]): void;
  recallWaits(ids: readonly number[]): void;
  recallCallback(tokenHash: string): void;
}

function originOf(row: StoredLineage | null): ForkOrigin | null {
  if (row === null || row.origin_id === null) return null;
  return { id: row.origin_id, beforeTask: row.before_task, beforeTime: row.before_time };
}

export class DurableBook {
  readonly #reader: DurableReader;
  readonly #away: Away;
  readonly #lineages = new Map<number, Lineage>();
  /** Lineages that have ended, until that is committed: the store may not have them yet. */
  readonly #ended = new RecentRows<number, Lineage>(() => null);
  readonly #open = new Map<number, StoredWait>();
  /** Open waits for events, by the name of the event, the oldest first. */
  readonly #byEvent = new Map<string, Set<StoredWait>>();
  /**
   * What these waits are for, by id, parsed once, because every event of their name is compared; and the newest event when the
   * wait became known here.
   */
  readonly #awaited = new Map<number, { filter: EventFilter; newestEvent: number }>();
  /** Open callbacks, by the hash of their token. */
  readonly #byToken = new Map<string, StoredWait>();
  /** Waits for events whose look back at earlier events is not done, by id, and the step that armed them. */
  readonly lookBacks = new Map<number, number>();
  /** Events that settled a wait of a lineage, until they are committed. */
  readonly #used = new RecentRows<string, true>(() => null);
  /** Settled waits, by lineage and identity, until they are committed. */
  readonly #waits: RecentRows<readonly [lineage: number, identity: string], StoredWait>;
  readonly #newestEvent: () => number;

  /** @param newestEvent the id of the newest decided event */
  constructor(reader: DurableReader, newestEvent: () => number, away: Away) {
    this.#reader = reader;
    this.#away = away;
    this.#newestEvent = newestEvent;
    this.#waits = new RecentRows(
      ([lineage, identity]) => reader.findWait(lineage, identity),
      ([lineage, identity]) => `${lineage} ${identity}`,
    );
  }

  /** A lineage that is new in this step. */
  begin(id: number, made: Partial<Omit<Lineage, "id" | "run" | "waits">> = {}): Lineage {
    const { depth = 0, callerWait = null, origin = null, hasSteps = false, hasWaits = false, settledWait = 0 } = made;
    const lineage: Lineage = { id, depth, callerWait, origin, run: null, waits: NO_WAITS, hasSteps, hasWaits, settledWait };
    this.#lineages.set(id, lineage);
    return lineage;
  }

  /** A lineage in memory or in the store, to go on with: it stays in memory until it ends. */
  get(id: number): Lineage {
    const found = this.look(id);
    if (found === null) return this.load(id, this.#rowOf(id));
    this.#lineages.set(id, found);
    return found;
  }

  /** A lineage in memory, or of a parked run; null if the lineage is in the store alone, as after its end. */
  look(id: number): Lineage | null {
    const known = this.#lineages.get(id) ?? this.#ended.find(id);
    if (known !== null) return known;
    this.#away.recallLineages([id]);
    return this.#lineages.get(id) ?? null;
  }

  /** Whether the lineage is in memory. */
  has(id: number): boolean {
    return this.#lineages.has(id);
  }

  /** A lineage of the store. */
  load(id: number, row: StoredLineage | null): Lineage {
    const origin = originOf(row);
    const has = origin === null ? null : true;
    return this.begin(id, {
      depth: row?.depth ?? 0,
      callerWait: row?.caller_wait ?? null,
      origin,
      hasSteps: has,
      hasWaits: has,
      settledWait: null,
    });
  }

  /** Whether the lineage has steps to read. */
  hasSteps(lineage: Lineage): boolean {
    lineage.hasSteps ??= this.#has("steps", lineage);
    return lineage.hasSteps;
  }

  /** Whether the lineage has waits to read, open or settled. */
  hasWaits(lineage: Lineage): boolean {
    lineage.hasWaits ??= this.#has("waits", lineage);
    return lineage.hasWaits;
  }

  /** Drops a lineage that has ended; once that is committed, the store has what is left of the lineage. */
  forget(lineage: Lineage, turn: number): void {
    this.#lineages.delete(lineage.id);
    this.#ended.put(lineage.id, lineage, turn);
  }

  /** Drops a lineage whose run leaves memory, with its waits except those for events. */
  leave(id: number): void {
    for (const wait of this.#lineages.get(id)?.waits.values() ?? []) if (wait.kind !== "event") this.#drop(wait);
    this.#lineages.delete(id);
  }

  /** Adds the lineage of a run that is in memory again, with its open waits, the oldest first. */
  comeBack(run: Run, id: number, row: StoredLineage | null, waits: readonly StoredWait[]): void {
    const lineage = this.load(id, row);
    lineage.run = run;
    if (waits.length === 0) return;
    const here = waits.map((wait) => this.#open.get(wait.id) ?? wait);
    lineage.waits = new Map(here.map((wait) => [wait.identity, wait]));
    lineage.hasWaits = true;
    for (const wait of here) this.#add(wait);
  }

  /** Adds an open wait, or the row of one that was ended with its lineage and is armed again. */
  open(wait: StoredWait, turn: number): void {
    const lineage = this.get(wait.lineage_id);
    if (lineage.waits === NO_WAITS) lineage.waits = new Map();
    (lineage.waits as Map<string, StoredWait>).set(wait.identity, wait);
    lineage.hasWaits = true;
    this.arm(wait, turn);
  }

  /** Adds an open wait whose lineage may be in the store alone. */
  arm(wait: StoredWait, turn: number): void {
    this.#add(wait);
    if (wait.kind !== "event") return;
    const filter = filterOf(wait.spec);
    this.#awaited.set(wait.id, { filter, newestEvent: this.#newestEvent() });
    this.lookBacks.set(wait.id, turn);
    this.#byEvent.set(filter.event, (this.#byEvent.get(filter.event) ?? new Set<StoredWait>()).add(wait));
  }

  /** Takes a wait from the open ones; `settled` is its row from now on. */
  close(wait: StoredWait, settled: StoredWait, turn: number): void {
    const lineage = this.get(wait.lineage_id);
    this.#drop(wait);
    this.#closeEvent(wait);
    lineage.settledWait = wait.id;
    if (settled.event_id !== null) this.#used.put(`${lineage.id} ${settled.event_id}`, true, turn);
    if (lineage.waits.size === 1) lineage.waits = NO_WAITS;
    else (lineage.waits as Map<string, StoredWait>).delete(wait.identity);
    this.#waits.put([wait.lineage_id, wait.identity], settled, turn);
  }

  #add(wait: StoredWait): void {
    this.#open.set(wait.id, wait);
    if (wait.token_hash !== null) this.#byToken.set(wait.token_hash, wait);
  }

  #drop(wait: StoredWait): void {
    this.#open.delete(wait.id);
    if (wait.token_hash !== null) this.#byToken.delete(wait.token_hash);
  }

  #closeEvent(wait: StoredWait): void {
    const awaited = this.#awaited.get(wait.id);
    if (awaited === undefined) return;
    const waits = this.#byEvent.get(awaited.filter.event);
    this.#awaited.delete(wait.id);
    this.lookBacks.delete(wait.id);
    waits?.delete(wait);
    if (waits?.size === 0) this.#byEvent.delete(awaited.filter.event);
  }

  /** Whether any wait is for an event. */
  get awaitsEvents(): boolean {
    return this.#byEvent.size > 0;
  }

  awaits(event: string): boolean {
    return this.#byEvent.has(event);
  }

  /** What an open wait for an event is for. */
  filterOf({ id }: StoredWait): EventFilter | undefined {
    return this.#awaited.get(id)?.filter;
  }

  /**
   * Whether an event of the awaited name may settle an open wait. The rules read events again after a restart, and late where
   * nothing has concerned them: such an event may be older than the run, or have settled a wait of the lineage.
   */
  isCandidate({ id, lineage_id }: StoredWait, event: Pick<AwaitedEvent, "id" | "name">): boolean {
    if (event.id > (this.#awaited.get(id)?.newestEvent ?? 0)) return true;
    return !this.hasUsed(lineage_id, event.id) && this.#reader.isEventOf(lineage_id, event);
  }

  /** The open waits for an event of this name, the oldest first, without those that have yet to look back. */
  waitsFor(event: string): StoredWait[] {
    return [...(this.#byEvent.get(event) ?? [])].filter(({ id }) => !this.lookBacks.has(id));
  }

  /** Whether an event has settled a wait of the lineage by a decision that is not committed. */
  hasUsed(lineageId: number, eventId: number): boolean {
    return this.#used.find(`${lineageId} ${eventId}`) !== null;
  }

  openWait(id: number): StoredWait | undefined {
    if (!this.#open.has(id)) this.#away.recallWaits([id]);
    return this.#open.get(id);
  }

  /** The open wait of a callback with this token. */
  openCallback(tokenHash: string): StoredWait | undefined {
    if (!this.#byToken.has(tokenHash)) this.#away.recallCallback(tokenHash);
    return this.#byToken.get(tokenHash);
  }

  /** Those in memory. */
  openWaits(): Iterable<StoredWait> {
    return this.#open.values();
  }

  /** The lineages of the waits that are in memory, and the other waits. */
  lineagesOf(waits: readonly number[]): { known: number[]; unknown: number[] } {
    const known = waits.flatMap((id) => this.#open.get(id)?.lineage_id ?? []);
    return { known, unknown: waits.filter((id) => !this.#open.has(id)) };
  }

  /** A wait of a lineage, open or settled; null for an unknown identity. What a fork sees of its origin is included. */
  find(lineage: Lineage, identity: string): StoredWait | null {
    const open = lineage.waits.get(identity);
    if (open !== undefined) return open;
    if (!this.hasWaits(lineage)) return null;
    const own = this.#waits.find([lineage.id, identity]);
    return own ?? this.#seenInOrigin(lineage.origin, identity);
  }

  #seenInOrigin(origin: ForkOrigin | null, identity: string): StoredWait | null {
    let beforeUs = Number.POSITIVE_INFINITY;
    for (let from = origin; from !== null; from = this.#originOf(from.id)) {
      beforeUs = Math.min(beforeUs, from.beforeTime ?? beforeUs);
      const wait = this.#waits.find([from.id, identity]);
      if (wait !== null && wait.outcome !== null && wait.created_at < beforeUs) return wait;
    }
    return null;
  }

  #has(table: "steps" | "waits", { id }: Lineage): boolean {
    return this.#reader.hasRows(table, id);
  }

  #rowOf(id: number): StoredLineage | null {
    return this.#reader.readLineage(id);
  }

  #originOf(id: number): ForkOrigin | null {
    const known = this.#lineages.get(id) ?? this.#ended.find(id);
    return known === null ? originOf(this.#rowOf(id)) : known.origin;
  }

  /** Id of the newest run of a lineage. */
  newestRunOf(id: number): number | null {
    return this.look(id)?.run?.id ?? this.#reader.newestRunOf(id);
  }

  /** Drops settled waits and ended lineages that are committed. */
  trim(committedTurn: number): void {
    this.#ended.trim(committedTurn);
    this.#waits.trim(committedTurn);
    this.#used.trim(committedTurn);
  }
}
