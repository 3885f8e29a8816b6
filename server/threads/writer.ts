/** the log writer and the store writer around the one write handle. */
import { LogWriter } from "#actors/log-writer/log-writer";
import { COMMITS, GATEWAY, LOG_WRITER, STORE_WRITER } from "#actors/names";
import { StoreWriter, type WatchedFiles } from "#actors/store-writer/store-writer";
import type { Decided, ReadOnly } from "#protocol/feed";
import type { ActorSpec } from "#runtime/actor";
import { assert } from "#runtime/assert";

import { Writer } from "#storage/apply";
import type { Database } from "#storage/driver";
import { clearProblem, noteProblem, StoreFiles } from "#storage/store-files";
import { closeWriteHandle, openWriteHandle } from "#storage/write-handle";
import type { ThreadData } from "./data.ts";

/** Generations reserved per start of this thread, so that they grow over its restarts. */
const GENERATIONS_PER_THREAD = 1_000_000;

function filesOf(path: string, database: Database): WatchedFiles {
  const files = new StoreFiles(path, database);
  return {
    problem: () => files.problem(),
    note: (problem) => noteProblem(path, problem),
    clear: () => clearProblem(path),
  };
}

export function setUp(data: ThreadData): ActorSpec[] {
  let writer: Writer | null = null;
  let generation = data.threadStarts * GENERATIONS_PER_THREAD;
  return [
    {
      name: STORE_WRITER,
      start: (context, out) => {
        const database = openWriteHandle(data.databasePath, { durability: data.config.durability });
        const isFirst = context.generation === 1 && data.threadStarts === 1;
        writer = new Writer(database, { stream: isFirst ? "new_block" : "continue" });
        // The former writer may have ended in the read-only state; this writer starts writable.
        if (!isFirst) {
          out.send(GATEWAY, { kind: "ReadOnly", on: false, status: 503, error: "", since: 0 } satisfies ReadOnly);
          out.send(GATEWAY, { kind: "Decided", commands: writer.decidedCommands } satisfies Decided);
        }
        const close = (failed: boolean): void => (failed ? database.close() : closeWriteHandle(database));
        const storeWriter = new StoreWriter(writer, context.nowUs, close);
        storeWriter.watch(filesOf(data.databasePath, database), out);
        return storeWriter;
      },
      resent: () => true,
    },
    {
      name: LOG_WRITER,
      start: (_context, out) => {
        assert(writer !== null, "the store writer starts first");
        generation += 1;
        out.send(COMMITS, { kind: "WriterStarted", source: null, generation, last_seq: writer.latestSeq, read_only: false });
        return new LogWriter(generation, writer.nextLogId);
      },
      resent: () => true,
    },
  ];
}
