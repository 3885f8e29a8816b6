/** The supervision tree and the placement of its actors, as data. */
import type { Placement } from "#runtime/placement";
import type { SupervisorChild, WorkerChild } from "#runtime/supervisor";
import { EXIT_REPORTS } from "#runtime/thread";
import {
  CHECKPOINTER,
  COMMITS,
  DISPATCHER,
  ENGINE_PROCESSES,
  EXPECTATION_TIMER,
  GATEWAY,
  LEASE_MANAGER,
  LISTENING,
  LOG_WRITER,
  OUTBOUND,
  RECORDS,
  REGISTERED,
  RULE_ENGINE,
  RULE_READER,
  SCHEDULER,
  SCRAPES,
  SERVER_LOG,
  STORE_WRITER,
  USER_CODE,
} from "./names.ts";

/** How long the orderly stop of a worker may take. */
const SHUTDOWN_MS = 5000;

function permanent(name: string): WorkerChild {
  return { kind: "worker", name, restart: "permanent", shutdownMs: SHUTDOWN_MS };
}

/** More than ten crashes of one group within ten seconds will not pass by themselves. */
const LIMIT = { intensity: 10, periodMs: 10_000 } as const;

/**
 * The writers start first and stop last. The dispatch group survives a crash of the writers and resends its unacknowledged
 * batches. The gateway is asked to stop and never terminated, because an open app would end the process.
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
          children: [permanent(DISPATCHER), permanent(LEASE_MANAGER), permanent(SCHEDULER), permanent(RECORDS)],
        },
        {
          kind: "supervisor",
          name: "reacting",
          strategy: "one_for_one",
          ...LIMIT,
          children: [permanent(RULE_ENGINE), permanent(RULE_READER), permanent(EXPECTATION_TIMER)],
        },
      ],
    },
    permanent(GATEWAY),
  ],
};

/**
 * Worker threads besides main. "none" runs everything on the calling thread, for a server inside a script. "three" has
 * separate threads for core, writer and gateway; with "two", the core shares the gateway's thread, which saves a hop that
 * does not pay with few processors.
 */
export type ThreadCount = "none" | "two" | "three";

/** The placement of the actors; main owns processes. All worker threads start with the same module. */
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
      [LEASE_MANAGER]: core,
      [SCHEDULER]: core,
      [RECORDS]: core,
      [RULE_ENGINE]: core,
      [RULE_READER]: core,
      [EXPECTATION_TIMER]: core,
      [OUTBOUND]: "main",
      [USER_CODE]: "main",
      [GATEWAY]: gateway,
    },
    endpoints: {
      [COMMITS]: core,
      [EXIT_REPORTS]: "main",
      [LISTENING]: "main",
      [REGISTERED]: "main",
      [SCRAPES]: "main",
      [SERVER_LOG]: "main",
    },
    entry,
  };
}
