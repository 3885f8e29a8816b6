/** The actors of the core's thread, wired for the server and the simulator alike; what differs between the two is a port. */
import type { ActorSpec } from "#runtime/actor";
import type { Host } from "#runtime/host";
import { EXIT_REPORTS, type ExitReport } from "#runtime/thread";
import { DispatchGroup, type GroupOptions } from "../dispatch-group/dispatch-group.ts";
import { COMMITS, DISPATCHER, LOG_WRITER, RULE_ENGINE, RULE_READER } from "../names.ts";
import { type ReaderPorts, RuleReader } from "../rule-reader/rule-reader.ts";
import { CommitClient } from "../store-writer/commit-client.ts";

/** Epochs reserved per start of this thread, so that they grow over its restarts. */
const EPOCHS_PER_THREAD = 1_000_000;

/** Threads that answer the rule reader; opened at each of its starts. */
export type RuleReaders = Pick<ReaderPorts, "ask" | "close">;

export interface CorePorts extends Omit<GroupOptions, "commits" | "firstEpoch"> {
  /** Number of starts of this thread. */
  threadStarts: number;
  openReaders(): RuleReaders;
}

export interface CoreThread {
  specs: ActorSpec[];
  /** For checks of a simulation. */
  group: DispatchGroup;
}

/** Attaches the commit client to the host and makes the actors, in start order. */
export function coreThread(host: Host, { threadStarts, openReaders, ...options }: CorePorts): CoreThread {
  const send = (to: string, message: unknown): void => host.send(to, message);
  const commits = new CommitClient({
    source: options.facts.startedAt + threadStarts,
    send: (message) => send(LOG_WRITER, message),
    receivedUs: () => group.receivedUs(),
    acknowledged: (messages) => {
      for (const { to, message } of messages) send(to, message);
      group.committed(send);
    },
    reload: (error) => send(EXIT_REPORTS, { name: DISPATCHER, message: error.message, counted: false } satisfies ExitReport),
  });
  host.attach(COMMITS, commits);
  const group = new DispatchGroup({ ...options, commits, firstEpoch: threadStarts * EPOCHS_PER_THREAD });
  return { specs: [...group.specs(), ...group.reactionSpecs(), ruleReader(host, openReaders)], group };
}

function ruleReader(host: Host, open: () => RuleReaders): ActorSpec {
  return {
    name: RULE_READER,
    start: ({ generation }, out) => {
      if (generation > 1) out.send(RULE_ENGINE, { kind: "ReaderStarted" });
      return new RuleReader({ ...open(), done: (message) => host.send(RULE_ENGINE, message) });
    },
  };
}
