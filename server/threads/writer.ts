/** the log writer and the store writer around the one write handle. */
import { writerThread } from "#actors/specs/writer-thread";
import type { OpenedStore, WatchedFiles } from "#actors/store-writer/store-writer";
import type { ActorSpec } from "#runtime/actor";
import type { ThreadHost } from "#runtime/thread";
import { clearProblem, noteProblem, StoreFiles } from "#storage/home/store-files";
import type { Database } from "#storage/sqlite/driver";
import { SqliteStore } from "#storage/write/sqlite-store";
import { closeWriteHandle, openWriteHandle } from "#storage/write/write-handle";
import { Writer, type WriterOptions } from "#storage/write/writer";
import type { ThreadData } from "./data.ts";

export function setUp(data: ThreadData, { host }: ThreadHost): ActorSpec[] {
  return writerThread(host, { threadStarts: data.threadStarts, open: (options) => openStore(data, options) });
}

function openStore({ databasePath, config }: ThreadData, options: WriterOptions): OpenedStore {
  const database = openWriteHandle(databasePath, { durability: config.durability });
  const close = (failed: boolean): void => (failed ? database.close() : closeWriteHandle(database));
  return {
    store: new SqliteStore(new Writer(database, options), close),
    files: filesOf(databasePath, database),
  };
}

function filesOf(path: string, database: Database): WatchedFiles {
  const files = new StoreFiles(path, database);
  return {
    problem: () => files.problem(),
    note: (problem) => noteProblem(path, problem),
    clear: () => clearProblem(path),
  };
}
