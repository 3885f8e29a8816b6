/** the log writer and the store writer around the one write handle. */
import { writerThread } from "#actors/specs/writer-thread";
import type { OpenedStore, WatchedFiles } from "#actors/store-writer/store-writer";
import type { ActorSpec } from "#runtime/actor";
import { clearProblem, noteProblem, StoreFiles } from "#storage/home/store-files";
import type { Database } from "#storage/sqlite/driver";
import { closeWriteHandle, openWriteHandle } from "#storage/write/write-handle";
import { Writer, type WriterOptions } from "#storage/write/writer";
import type { ThreadData } from "./data.ts";

export function setUp(data: ThreadData): ActorSpec[] {
  return writerThread({ threadStarts: data.threadStarts, open: (stream, nowUs) => openStore(data, { stream, nowUs }) });
}

function openStore({ databasePath, config }: ThreadData, options: WriterOptions): OpenedStore {
  const database = openWriteHandle(databasePath, { durability: config.durability });
  return {
    writer: new Writer(database, options),
    files: filesOf(databasePath, database),
    close: (failed) => (failed ? database.close() : closeWriteHandle(database)),
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
