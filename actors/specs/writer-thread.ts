/** The writers around the one write handle, wired for the server and the simulator alike; the opened store is a port. */
import type { Decided, ReadOnly } from "#protocol/wire/feed";
import type { ActorSpec } from "#runtime/actor";
import { assert } from "#runtime/assert";
import { LogWriter } from "../log-writer/log-writer.ts";
import { GATEWAY, LOG_WRITER, STORE_WRITER } from "../names.ts";
import { type OpenedStore, type ReportGeneration, StoreWriter } from "../store-writer/store-writer.ts";

/** Generations reserved per start of this thread, so that they grow over its restarts. */
const GENERATIONS_PER_THREAD = 1_000_000;

export interface WriterPorts {
  /** Number of starts of this thread. */
  threadStarts: number;
  /** Opens the store at each start of the writers; stream numbers begin a new block at the first start of a process. */
  open(stream: "new_block" | "continue", nowUs: () => number): OpenedStore;
}

/** The writers in start order. */
export function writerThread({ threadStarts, open }: WriterPorts): ActorSpec[] {
  let store: OpenedStore | null = null;
  let generation = threadStarts * GENERATIONS_PER_THREAD;
  return [
    {
      name: STORE_WRITER,
      start: (context, out) => {
        const isFirst = context.generation === 1 && threadStarts === 1;
        store = open(isFirst ? "new_block" : "continue", context.nowUs);
        const { writer, files, close } = store;
        // The former writer may have ended in the read-only state; this writer starts writable.
        if (!isFirst) {
          out.send(GATEWAY, { kind: "ReadOnly", on: false, status: 503, error: "", since: 0 } satisfies ReadOnly);
          out.send(GATEWAY, { kind: "Decided", commands: writer.decidedCommands } satisfies Decided);
        }
        const storeWriter = new StoreWriter(writer, context.nowUs, close);
        if (files !== null) storeWriter.watch(files, out);
        return storeWriter;
      },
      resent: () => true,
    },
    {
      name: LOG_WRITER,
      start: (_context, out) => {
        assert(store !== null, "the store writer starts first");
        generation += 1;
        // The store writer announces the start to the core, so that the core receives starts and refusals in their order.
        out.send(STORE_WRITER, { kind: "ReportGeneration", source: null, generation } satisfies ReportGeneration);
        return new LogWriter(generation, store.writer.nextLogId);
      },
      resent: () => true,
    },
  ];
}
