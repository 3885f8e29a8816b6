/** The writers around the opened store, wired for the server and the simulator alike; the opened store is a port. */
import type { Decided, ReadOnly } from "#protocol/wire/feed";
import type { ActorSpec } from "#runtime/actor";
import { assert } from "#runtime/assert";
import type { Outbox } from "#runtime/effect";
import type { Host } from "#runtime/host";
import type { Owner } from "#storage/port";
import { LogWriter } from "../log-writer/log-writer.ts";
import { GATEWAY, LOG_WRITER, STORE_WRITER } from "../names.ts";
import { type OpenedStore, type ReportGeneration, StoreWriter } from "../store-writer/store-writer.ts";

/** Generations reserved per start of this thread, so that they grow over its restarts. */
const GENERATIONS_PER_THREAD = 1_000_000;

export interface WriterPorts {
  /** Number of starts of this thread. */
  threadStarts: number;
  /**
   * Opens the store at each start of the writers; stream numbers begin a new block at the first start of a process. `former` is
   * the owner that the writers before were: if another process has opened the store since, it does not take the store back.
   */
  open(options: WriterStart): OpenedStore | Promise<OpenedStore>;
}

export interface WriterStart {
  stream: "new_block" | "continue";
  former: Owner | null;
  nowUs(): number;
}

/** The writers in start order. */
export function writerThread(host: Host, { threadStarts, open }: WriterPorts): ActorSpec[] {
  let opened: OpenedStore | null = null;
  let generation = threadStarts * GENERATIONS_PER_THREAD;
  return [
    {
      name: STORE_WRITER,
      start: (context, out) => {
        const isFirst = context.generation === 1 && threadStarts === 1;
        const former = opened?.store.owner ?? null;
        const begin = (open: OpenedStore): StoreWriter => {
          opened = open;
          // The former writer may have ended in the read-only state; this writer starts writable.
          if (!isFirst) {
            out.send(GATEWAY, { kind: "ReadOnly", on: false, status: 503, error: "", since: 0 } satisfies ReadOnly);
            out.send(GATEWAY, { kind: "Decided", commands: [...open.store.decidedCommands] } satisfies Decided);
          }
          return startWriter(host, open, context.nowUs, out);
        };
        const opening = open({ stream: isFirst ? "new_block" : "continue", former, nowUs: context.nowUs });
        return opening instanceof Promise ? opening.then(begin) : begin(opening);
      },
      resent: () => true,
    },
    {
      name: LOG_WRITER,
      start: (_context, out) => {
        assert(opened !== null, "the store writer starts first");
        generation += 1;
        // The store writer announces the start to the core, so that the core receives starts and refusals in their order.
        out.send(STORE_WRITER, { kind: "ReportGeneration", source: null, generation } satisfies ReportGeneration);
        return new LogWriter(generation, opened.store.nextLogId);
      },
      resent: () => true,
    },
  ];
}

function startWriter(host: Host, { store, files }: OpenedStore, nowUs: () => number, out: Outbox): StoreWriter {
  const storeWriter = new StoreWriter(store, { nowUs, done: (message) => host.send(STORE_WRITER, message) });
  if (files !== null || store.reconnect !== undefined) storeWriter.watch(files, out);
  return storeWriter;
}
