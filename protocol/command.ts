/**
 * Commands: what the gateway asks of the actors on the core thread.
 *
 * A command is answered exactly once through the committed feed (protocol/feed.ts), also when it is refused.
 * It carries the epoch of the core that the gateway last heard of; a core drops commands of an older epoch,
 * because the gateway sends every unanswered command again after each start of the core.
 */

/** Which actor takes a command, and on which thread its body is parsed (hot bodies: where they are decided). */
export const COMMANDS = {
  CreateRun: { actor: "dispatcher", parsed: "core", writes: true },
  CreateFlowRun: { actor: "dispatcher", parsed: "core", writes: true },
  TransitionRun: { actor: "dispatcher", parsed: "core", writes: true },
  Report: { actor: "dispatcher", parsed: "core", writes: true },
  Heartbeat: { actor: "dispatcher", parsed: "core", writes: false },
  Work: { actor: "dispatcher", parsed: "gateway", writes: true },
  EngineFailed: { actor: "dispatcher", parsed: "gateway", writes: true },
  CancelRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  DeleteRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  ResumeRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  RetryRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  DeleteFlow: { actor: "dispatcher", parsed: "gateway", writes: true },
  CreateBackfill: { actor: "dispatcher", parsed: "core", writes: true },
  CancelBackfill: { actor: "dispatcher", parsed: "gateway", writes: true },
  PrefilterBackfill: { actor: "dispatcher", parsed: "gateway", writes: true },
  CreateSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
  PreviewSchedule: { actor: "scheduler", parsed: "gateway", writes: false },
  PatchSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
  DeleteSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
  PauseSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
  ResumeSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
  PauseFlow: { actor: "scheduler", parsed: "gateway", writes: true },
  ResumeFlow: { actor: "scheduler", parsed: "gateway", writes: true },
  SkipFires: { actor: "scheduler", parsed: "gateway", writes: true },
  UndoSkip: { actor: "scheduler", parsed: "gateway", writes: true },
  ListUpcoming: { actor: "scheduler", parsed: "gateway", writes: false },
  ListFires: { actor: "scheduler", parsed: "gateway", writes: false },
  AcceptClock: { actor: "scheduler", parsed: "gateway", writes: true },
  AcquireLease: { actor: "leases", parsed: "gateway", writes: true },
  ReleaseLease: { actor: "leases", parsed: "gateway", writes: true },
  PatchSettings: { actor: "records", parsed: "gateway", writes: true },
  CreateArtifact: { actor: "records", parsed: "gateway", writes: true },
  EmitEvent: { actor: "records", parsed: "gateway", writes: true },
  CreateRule: { actor: "records", parsed: "core", writes: true },
  PatchRule: { actor: "records", parsed: "core", writes: true },
  DeleteRule: { actor: "records", parsed: "gateway", writes: true },
  CreateVariable: { actor: "records", parsed: "core", writes: true },
  PatchVariable: { actor: "records", parsed: "core", writes: true },
  DeleteVariable: { actor: "records", parsed: "gateway", writes: true },
  GetServer: { actor: "records", parsed: "gateway", writes: false },
  GetActors: { actor: "records", parsed: "gateway", writes: false },
  GetSettings: { actor: "records", parsed: "gateway", writes: false },
  GetQueue: { actor: "records", parsed: "gateway", writes: false },
  ExplainRun: { actor: "records", parsed: "gateway", writes: false },
} as const satisfies Record<string, { actor: string; parsed: "core" | "gateway"; writes: boolean }>;

export type CommandKind = keyof typeof COMMANDS;

/** The header Idempotency-Key, and a fingerprint of the request that tells a repetition from another request under the same key. */
export interface IdempotencyKey {
  key: string;
  fingerprint: string;
}

/** One request of a client, on its way to the actor that decides it. */
export interface Command {
  kind: CommandKind;
  /** Unique for the life of the process; later commands have larger ids. */
  id: number;
  /** The core start this command is meant for. */
  epoch: number;
  /** The `{id}` of the path, 0 where there is none. */
  target: number;
  /** The decoded `{name}` of the path, where it has one. */
  target_name?: string;
  /** JSON text where the core parses it, the validated body where the gateway did, null without a body. */
  body: unknown;
  /** Null without the header. */
  idempotency: IdempotencyKey | null;
  /** True when the peer is on this host (loopback or the Unix socket). */
  local: boolean;
  /** Number of rules that led to the request; absent where none did. */
  rule_depth?: number;
  /** Name of the client that asks through MCP; absent where the request came over the API. */
  mcp_client?: string;
}

/**
 * What the gateway tells about a command it has sent:
 * - Expired: the waiting time of a long-poll is over; the core answers it now (empty), unless its answer is on the way.
 * - Abandoned: the client of a long-poll went away; nobody waits for an answer.
 * - Undelivered: an answer came for a client that had gone; what it handed out is taken back.
 */
export interface CommandNotice {
  kind: "Expired" | "Abandoned" | "Undelivered";
  epoch: number;
  /** The command it is about. */
  command: number;
}
