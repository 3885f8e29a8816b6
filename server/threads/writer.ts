/** the log writer and the store writer around the one handle that writes. */
import { SERVER_LOG } from "#actors/names";
import { type WriterStart, writerThread } from "#actors/specs/writer-thread";
import type { OpenedStore, WatchedFiles } from "#actors/store-writer/store-writer";
import type { ActorSpec } from "#runtime/actor";
import type { ThreadHost } from "#runtime/thread";
import { clearProblem, noteProblem, StoreFiles } from "#storage/home/store-files";
import { isPostgresUrl } from "#storage/postgres/location";
import { openPostgresStore } from "#storage/postgres/store";
import type { Database } from "#storage/sqlite/driver";
import { SqliteStore } from "#storage/write/sqlite-store";
import { closeWriteHandle, openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import type { LogMessage } from "../server-log.ts";
import type { ThreadData } from "./data.ts";
import { openWaiting } from "./open-waiting.ts";
import { lowerThreadPriority } from "./thread-priority.ts";

/**
 * Added to the nice value of the writer's thread where two threads share two processors: the kernel then wakes the writer less
 * often in place of the thread of the core, which has just sent it a batch (ADR 40).
 */
const WRITER_NICE = 5;

export function setUp(data: ThreadData, { host }: ThreadHost): ActorSpec[] {
  if (data.threads === "two") lowerThreadPriority(WRITER_NICE);
  const warn = (text: string) => host.send(SERVER_LOG, { level: "warn", text } satisfies LogMessage);
  const open = (options: WriterStart) =>
    isPostgresUrl(data.store) ? openPostgres(data, options, warn) : openFile(data, options);
  return writerThread(host, { threadStarts: data.threadStarts, open });
}

function openFile({ store, config }: ThreadData, options: WriterStart): OpenedStore {
  const database = openWriteHandle(store, { durability: config.durability });
  const close = (failed: boolean): void => (failed ? database.close() : closeWriteHandle(database));
  return {
    store: new SqliteStore(new Writer(database, options), close),
    files: filesOf(store, database),
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

/** At the start of a process, the configuration limits the wait for the database; later, the writers wait until it is back. */
async function openPostgres(
  { store, config }: ThreadData,
  options: WriterStart,
  warn: (text: string) => void,
): Promise<OpenedStore> {
  const limitSecs = options.stream === "new_block" ? config.storeWaitSecs : Number.POSITIVE_INFINITY;
  const opened = await openWaiting(() => openPostgresStore(store, options), limitSecs, warn);
  return { store: opened, files: null };
}
