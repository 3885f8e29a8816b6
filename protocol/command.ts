/**
 * Commands: requests of the gateway to the actors on the core thread.
 * A command is answered exactly once through the committed feed (protocol/feed.ts), also when it is refused. It carries the
 * newest epoch of the core known to the gateway. A core drops commands of an older epoch, because the gateway resends every
 * unanswered command after each start of the core.
 */

/** Which actor takes a command, and on which thread its body is parsed (hot bodies: on the core). */
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

/**
 * The header Idempotency-Key, with a fingerprint that distinguishes a repeated request from another request under the same key.
 */
export interface IdempotencyKey {
  key: string;
  fingerprint: string;
}

/** One request of a client, for the actor that decides it. */
export interface Command {
  kind: CommandKind;
  /** Unique for the life of the process; later commands have larger ids. */
  id: number;
  /** The core start this command is meant for. */
  epoch: number;
  /** The `{id}` of the path, 0 without one. */
  target: number;
  /** The decoded `{name}` of the path, if it has one. */
  target_name?: string;
  /** JSON text if the core parses it, the validated body if the gateway did, null without a body. */
  body: unknown;
  /** Null without the header. */
  idempotency: IdempotencyKey | null;
  /** True when the peer is on this host (loopback or the Unix socket). */
  local: boolean;
  /** Number of rules that led to the request; absent without rules. */
  rule_depth?: number;
  /** Name of the MCP client; absent for a request over the API. */
  mcp_client?: string;
}

/**
 * A notice of the gateway about a command it has sent:
 * - Expired: the wait of a long-poll has ended; the core answers it now (empty), unless its answer is on the way.
 * - Abandoned: the client of a long-poll has disconnected; no answer is needed.
 * - Undelivered: an answer came after its client had disconnected; what it handed out is taken back.
 */
export interface CommandNotice {
  kind: "Expired" | "Abandoned" | "Undelivered";
  epoch: number;
  /** The command of this notice. */
  command: number;
}
