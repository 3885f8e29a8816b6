/** The supervision tree and where its actors run, as data. */
import type { Placement } from "#runtime/placement";
import type { SupervisorChild, WorkerChild } from "#runtime/supervisor";
import { EXIT_REPORTS } from "#runtime/thread";
import {
  CHECKPOINTER,
  COMMITS,
  DISPATCHER,
  ENGINE_PROCESSES,
  EXPECTATIONS,
  GATEWAY,
  LEASES,
  LISTENING,
  LOG_WRITER,
  OUTBOUND,
  RECORDS,
  RULE_READER,
  RULES,
  SCHEDULER,
  SERVER_LOG,
  STORE_WRITER,
  USER_CODE,
} from "./names.ts";

/** How long a worker may take to stop in order. */
const SHUTDOWN_MS = 5000;

function permanent(name: string): WorkerChild {
  return { kind: "worker", name, restart: "permanent", shutdownMs: SHUTDOWN_MS };
}

/** More than ten crashes of one group within ten seconds are no passing trouble. */
const LIMIT = { intensity: 10, periodMs: 10_000 } as const;

/**
 * The writers come first and go last. The dispatch group outlives a crash of the writers: it sends them again what they had
 * not acknowledged. The gateway is asked to stop and never ended from outside, because an open app would end the process.
 */
export const TREE: SupervisorChild = {
  kind: "supervisor",
  name: "root",
  strategy: "one_for_one",
  ...LIMIT,
  children: [
    {
      kind: "supervisor",
      name: "io",
      strategy: "one_for_one",
      ...LIMIT,
      children: [permanent(ENGINE_PROCESSES), permanent(OUTBOUND), permanent(USER_CODE)],
    },
    {
      kind: "supervisor",
      name: "data",
      strategy: "one_for_one",
      ...LIMIT,
      children: [
        {
          kind: "supervisor",
          name: "writing",
          strategy: "one_for_all",
          ...LIMIT,
          children: [permanent(STORE_WRITER), permanent(LOG_WRITER)],
        },
        permanent(CHECKPOINTER),
        {
          kind: "supervisor",
          name: "dispatching",
          strategy: "one_for_all",
          ...LIMIT,
          children: [permanent(DISPATCHER), permanent(LEASES), permanent(SCHEDULER), permanent(RECORDS)],
        },
        {
          kind: "supervisor",
          name: "reacting",
          strategy: "one_for_one",
          ...LIMIT,
          children: [permanent(RULES), permanent(RULE_READER), permanent(EXPECTATIONS)],
        },
      ],
    },
    permanent(GATEWAY),
  ],
};

/**
 * Threads beside main: "none" runs everything on the thread it is started on, for a server inside a script. "three" has one each for deciding, writing and serving; with "two", deciding shares the gateway's
 * thread, which saves the hop between them where there are too few processors for it to pay.
 */
export type ThreadCount = "none" | "two" | "three";

/** Where the actors run; processes are owned by the main thread. Every worker thread starts with the same module. */
export function placementOf(threads: ThreadCount, entry: URL): Placement {
  const gateway = threads === "none" ? "main" : "gateway";
  const writer = threads === "none" ? "main" : "writer";
  const core = threads === "three" ? "core" : gateway;
  return {
    actors: {
      [ENGINE_PROCESSES]: "main",
      [CHECKPOINTER]: "main",
      [STORE_WRITER]: writer,
      [LOG_WRITER]: writer,
      [DISPATCHER]: core,
      [LEASES]: core,
      [SCHEDULER]: core,
      [RECORDS]: core,
      [RULES]: core,
      [RULE_READER]: core,
      [EXPECTATIONS]: core,
      [OUTBOUND]: "main",
      [USER_CODE]: "main",
      [GATEWAY]: gateway,
    },
    endpoints: { [COMMITS]: core, [EXIT_REPORTS]: "main", [LISTENING]: "main", [SERVER_LOG]: "main" },
    entry,
  };
}
