/**
 * Commands: requests of the gateway to the actors on the core thread.
 * A command is answered exactly once through the committed feed (protocol/wire/feed.ts), also when it is refused. It carries the
 * newest epoch of the core known to the gateway. A core drops commands of an older epoch, because the gateway resends every
 * unanswered command after each start of the core.
 */
import type { ArtifactBody } from "../records/artifact.ts";
import type { PrefilterBody } from "../records/backfill.ts";
import type { RetryBody } from "../records/durable.ts";
import type { FailedRequest, WorkRequest } from "../records/engine.ts";
import type { EmitEventBody } from "../records/event.ts";
import type { AcquireRequest, ReleaseRequest } from "../records/lease.ts";
import type { ResumeBody } from "../records/run.ts";
import type { PreviewBody, ScheduleBody, SchedulePatchBody, SkipBody } from "../records/schedule.ts";
import type { FiresQuery } from "../records/schedule-calendar.ts";
import type { SettingsPatch } from "../records/server.ts";
import type { UpcomingQuery } from "../records/upcoming.ts";
import type { SlicedBatch } from "./batch-slices.ts";
import type { SlicedReport } from "./report-slices.ts";

/** One kind of command: who decides it, and what is special about it. */
export interface CommandRow {
  /** The actor that decides it. */
  actor: "dispatcher" | "scheduler" | "lease-manager" | "records";
  /** The thread on which its body is parsed (hot bodies: on the core). */
  parsed: "core" | "gateway";
  /** Whether it changes rows: if so, it is refused or waits while the store takes no writes. */
  writes: boolean;
  /** A long-poll: its body has `wait_ms`, and the actor gets the notices Expired and Abandoned. */
  parks: boolean;
  /** The actor gets the notice Undelivered: the answer hands something out, or its client retries until it gets the answer. */
  reportsUndelivered: boolean;
  /**
   * False if the client takes every refusal as final, but retries when its connection is cut: then the gateway never refuses
   * the command, and waits longer before it cuts the connection.
   */
  refusable: boolean;
  /** While the server stops: refused with this error, or accepted because the actor answers it with an order to leave. */
  whileStopping: "unavailable" | "stopping" | "accepted";
  /** The refusal while the disk is full: engines of other versions retry a report only after a 503. */
  diskFull: 503 | 507;
  /** A body above PARSE_ON_CORE_BYTES_MAX is checked and sliced by a reader thread (sliced-body.ts). */
  sliced: boolean;
  /** The gateway adds to the answer what only the gateway knows. */
  completedByGateway: boolean;
  /**
   * The route of a client whose body the core parses: the server's log names the unknown fields of that body under this name.
   * Null if the gateway parses the body, and for bodies of engines.
   */
  loggedAs: string | null;
}

type GivenRow = Pick<CommandRow, "actor" | "parsed" | "writes"> & Partial<CommandRow>;

const COMMON = {
  parks: false,
  reportsUndelivered: false,
  refusable: true,
  whileStopping: "unavailable",
  diskFull: 507,
  sliced: false,
  completedByGateway: false,
  loggedAs: null,
} as const satisfies Partial<CommandRow>;

/** Fills in the columns that most commands have in common. */
function table<const T extends Readonly<Record<string, GivenRow>>>(
  rows: T,
): { readonly [K in keyof T]: Readonly<CommandRow> & { readonly actor: T[K]["actor"] } } {
  const filled = Object.entries<GivenRow>(rows).map(([kind, row]) => [kind, { ...COMMON, ...row }]);
  return Object.fromEntries(filled) as { [K in keyof T]: CommandRow & { actor: T[K]["actor"] } };
}

/** Every command. Code outside of the handlers reads these columns and compares no kinds. */
export const COMMANDS = table({
  CreateRun: { actor: "dispatcher", parsed: "core", writes: true, whileStopping: "stopping", loggedAs: "POST /api/runs" },
  CreateFlowRun: {
    actor: "dispatcher",
    parsed: "core",
    writes: true,
    whileStopping: "stopping",
    loggedAs: "POST /api/flows/{id}/runs",
  },
  CreateRuns: {
    actor: "dispatcher",
    parsed: "core",
    writes: true,
    whileStopping: "stopping",
    sliced: true,
    loggedAs: "POST /api/runs/batch",
  },
  TransitionRun: { actor: "dispatcher", parsed: "core", writes: true, refusable: false, reportsUndelivered: true },
  Report: { actor: "dispatcher", parsed: "core", writes: true, sliced: true, diskFull: 503 },
  Heartbeat: { actor: "dispatcher", parsed: "core", writes: false },
  Work: {
    actor: "dispatcher",
    parsed: "gateway",
    writes: true,
    parks: true,
    reportsUndelivered: true,
    whileStopping: "accepted",
  },
  Exchange: {
    actor: "dispatcher",
    parsed: "core",
    writes: true,
    parks: true,
    reportsUndelivered: true,
    whileStopping: "accepted",
    diskFull: 503,
  },
  EngineFailed: { actor: "dispatcher", parsed: "gateway", writes: true },
  CancelRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  DeleteRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  ResumeRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  WakeRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  ArmWaits: { actor: "dispatcher", parsed: "core", writes: true, loggedAs: "POST /api/runs/{id}/waits" },
  AnswerCallback: { actor: "dispatcher", parsed: "core", writes: true },
  RetryRun: { actor: "dispatcher", parsed: "gateway", writes: true },
  DeleteFlow: { actor: "dispatcher", parsed: "gateway", writes: true },
  CreateBackfill: { actor: "dispatcher", parsed: "core", writes: true, loggedAs: "POST /api/flows/{id}/backfill" },
  CancelBackfill: { actor: "dispatcher", parsed: "gateway", writes: true },
  PrefilterBackfill: { actor: "dispatcher", parsed: "gateway", writes: true },
  CreateSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
  PutSchedule: { actor: "scheduler", parsed: "gateway", writes: true },
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
  AcquireLease: { actor: "lease-manager", parsed: "gateway", writes: true, parks: true, reportsUndelivered: true },
  ReleaseLease: { actor: "lease-manager", parsed: "gateway", writes: true },
  PatchSettings: { actor: "records", parsed: "gateway", writes: true },
  CreateArtifact: { actor: "records", parsed: "gateway", writes: true },
  EmitEvent: { actor: "records", parsed: "gateway", writes: true },
  CreateRule: { actor: "records", parsed: "core", writes: true, loggedAs: "POST /api/rules" },
  PatchRule: { actor: "records", parsed: "core", writes: true, loggedAs: "PATCH /api/rules/{id}" },
  DeleteRule: { actor: "records", parsed: "gateway", writes: true },
  CreateVariable: { actor: "records", parsed: "core", writes: true, loggedAs: "POST /api/variables" },
  PatchVariable: { actor: "records", parsed: "core", writes: true, loggedAs: "PATCH /api/variables/{name}" },
  DeleteVariable: { actor: "records", parsed: "gateway", writes: true },
  GetServer: { actor: "records", parsed: "gateway", writes: false, completedByGateway: true },
  GetActors: { actor: "records", parsed: "gateway", writes: false },
  GetSettings: { actor: "records", parsed: "gateway", writes: false },
  GetMetrics: { actor: "records", parsed: "gateway", writes: false },
  GetQueue: { actor: "records", parsed: "gateway", writes: false },
  ExplainRun: { actor: "records", parsed: "gateway", writes: false },
});

export type CommandKind = keyof typeof COMMANDS;

/** An actor that decides commands. */
export type CommandActor = (typeof COMMANDS)[CommandKind]["actor"];

/** The commands that an actor decides. */
export type CommandsOf<A extends CommandActor> = {
  [K in CommandKind]: (typeof COMMANDS)[K]["actor"] extends A ? K : never;
}[CommandKind];

/**
 * The header Idempotency-Key, with a fingerprint that distinguishes a repeated request from another request under the same key.
 */
export interface IdempotencyKey {
  key: string;
  fingerprint: string;
}

/** JSON text, which the core parses: hot bodies are parsed on the thread that decides them. */
type Text = string;

/** The body of each command: text where the core parses it, else the validated body or query of the request, null without one. */
export interface CommandBodies {
  CreateRun: Text;
  CreateFlowRun: Text;
  CreateRuns: Text | SlicedBatch;
  TransitionRun: Text;
  Report: Text | SlicedReport;
  Heartbeat: Text;
  Work: WorkRequest;
  Exchange: Text;
  EngineFailed: FailedRequest;
  CancelRun: null;
  DeleteRun: null;
  ResumeRun: ResumeBody;
  WakeRun: null;
  ArmWaits: Text;
  AnswerCallback: Text;
  RetryRun: RetryBody | null;
  DeleteFlow: null;
  CreateBackfill: Text;
  CancelBackfill: null;
  PrefilterBackfill: PrefilterBody;
  CreateSchedule: ScheduleBody;
  PutSchedule: ScheduleBody;
  PreviewSchedule: PreviewBody;
  PatchSchedule: SchedulePatchBody;
  DeleteSchedule: null;
  PauseSchedule: null;
  ResumeSchedule: null;
  PauseFlow: null;
  ResumeFlow: null;
  SkipFires: SkipBody;
  /** The second parameter of the path. */
  UndoSkip: { fire: number };
  ListUpcoming: UpcomingQuery;
  ListFires: FiresQuery;
  AcceptClock: null;
  AcquireLease: AcquireRequest;
  ReleaseLease: ReleaseRequest;
  PatchSettings: SettingsPatch;
  CreateArtifact: ArtifactBody;
  EmitEvent: EmitEventBody;
  CreateRule: Text;
  PatchRule: Text;
  DeleteRule: null;
  CreateVariable: Text;
  PatchVariable: Text;
  DeleteVariable: null;
  GetServer: null;
  GetActors: null;
  GetSettings: null;
  GetMetrics: null;
  GetQueue: null;
  ExplainRun: null;
}

/** One request of a client, for the actor that decides it; of one kind, or of any. */
export type Command<K extends CommandKind = CommandKind> = {
  [Kind in K]: CommandHead & { kind: Kind; body: CommandBodies[Kind] };
}[K];

/** What every command carries beside kind and body. */
export interface CommandHead {
  /** Unique for the life of the process; later commands have larger ids. */
  id: number;
  /** The core start this command is meant for. */
  epoch: number;
  /** The `{id}` of the path, 0 without one. */
  target: number;
  /** The decoded `{name}` of the path, if it has one. */
  target_name?: string;
  /** Null without the header. */
  idempotency: IdempotencyKey | null;
  /** True when the peer is on this host (loopback or the Unix socket). */
  local: boolean;
  /** Number of rules that led to the request; absent without rules. */
  rule_depth?: number;
  /** The header of W3C Trace Context, where the route takes one; absent without a valid one. */
  traceparent?: string;
  /** Name of the MCP client; absent for a request over the API. */
  mcp_client?: string;
}

/**
 * Names a command. A message between actors that decides a command, or a part of one, names the command in a field `answers`:
 * that command is answered 500 if the step over the message fails.
 */
export type CommandRef = Pick<CommandHead, "id" | "epoch">;

export function isCommand(message: { kind: string }): message is Command {
  return Object.hasOwn(COMMANDS, message.kind);
}

/**
 * A notice of the gateway about a command it has sent:
 * - Expired: the wait of a long-poll has ended; the core answers it now (empty), unless its answer is on the way.
 * - Abandoned: the client of a long-poll has disconnected; no answer is needed.
 * - Undelivered: an answer came after its client had disconnected; what it handed out is taken back.
 */
export type CommandNotice = { [Kind in NoticeKind]: NoticeOf<Kind> }[NoticeKind];

type NoticeKind = "Expired" | "Abandoned" | "Undelivered";

interface NoticeOf<Kind> {
  kind: Kind;
  epoch: number;
  /** The command of this notice. */
  command: number;
}
