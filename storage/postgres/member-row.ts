/**
 * The row of the member that owns the store, as in SQLite (storage/write/member-row.ts). Each commit changes the row, where epoch
 * and number are those it expects (commit-messages.ts).
 */
import type { CommitResult, Owner } from "../port.ts";
import { COUNTED } from "../schema/codes.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import type { Connection } from "./connection.ts";

/** One server owns a store. */
export const MEMBER = 1;

/** Stream numbers reserved for one process start. */
const STREAM_BLOCK = 2 ** 32;
const STREAM = COUNTED.indexOf("stream");

const READ = `SELECT epoch, number, array_to_json(counters), result::json, commands::json FROM members WHERE member = ${MEMBER}`;
const OPEN = `UPDATE members SET epoch = epoch + 1, counters = $2, commands = $3 WHERE member = ${MEMBER} AND epoch = $1 RETURNING epoch`;

/** The newest commit of the store and its owner. */
export interface Standing {
  epoch: number;
  /** The highest ids, in the order of COUNTED. */
  counters: readonly number[];
  newest: CommitResult;
  /** Decided by the newest commit. */
  commands: readonly number[];
}

export interface Opening {
  /** As for the writer of SQLite (storage/write/writer.ts). */
  stream: "new_block" | "continue";
  former?: Owner | null;
}

/** The column `result` holds one of these. */
export type StoredResult = [first_event_id: number, first_seq: number, ...logs: number[]];

export async function readStanding(connection: Connection): Promise<Standing> {
  type Row = [epoch: number, number: number, counters: number[], result: StoredResult, commands: number[]];
  const [row] = await connection.rows<Row>(READ);
  if (row === undefined)
    throw new StorageError("corrupt", "the store has no row of its owner: an import into it is not finished");
  const [epoch, number, stored, [first_event_id, first_seq, ...logs], commands] = row;
  const counters = COUNTED.map((_name, index) => stored[index] ?? 0);
  return { epoch, counters, newest: { number, first_event_id, first_seq, logs }, commands };
}

/** Opens the store for writing under a new epoch, which fences the commits of the epoch before. */
export async function takeOver(connection: Connection, { stream }: Opening): Promise<Standing> {
  const standing = await readStanding(connection);
  const isNewBlock = stream === "new_block";
  const counters = isNewBlock ? withNewBlock(standing.counters) : standing.counters;
  // After a process start, no client waits for answers of an earlier process.
  const commands = isNewBlock ? [] : standing.commands;
  const [row] = await connection.rows<[number]>(OPEN, [standing.epoch, counters, JSON.stringify(commands)]);
  if (row === undefined) throw new StorageError("fenced", "another Millrace has taken over the store");
  return { ...standing, epoch: row[0], counters, commands };
}

/** The next stream number begins a block above all earlier ones. */
function withNewBlock(counters: readonly number[]): number[] {
  const block = Math.floor((counters[STREAM] ?? 0) / STREAM_BLOCK) + 1;
  return counters.with(STREAM, block * STREAM_BLOCK);
}
