/** A request that an actor decides, from arrival to answer. */
import type { Command, CommandKind, IdempotencyKey } from "#protocol/wire/command";
import type { Exchange, ExchangeWatcher } from "../transport/transport-port.ts";
import type { WheelEntry } from "./deadline-wheel.ts";

/** The request as an actor needs it. */
export interface CommandRequest {
  kind: CommandKind;
  target: number;
  /** The decoded name in the path, empty or absent without one. */
  name?: string;
  body: unknown;
  /** Memory of the body, counted until the answer, because the command may be resent with its body. */
  bytes: number;
  /** How long the client is willing to wait; null if the request is no long-poll. */
  waitUs: number | null;
  /** Of the creation of a run: how long its answer waits for the end of the run; 0 or absent without waiting. */
  endWaitUs?: number;
  idempotency: IdempotencyKey | null;
  /** Number of rules in the chain that led to the request; 0 or absent without rules. */
  ruleDepth?: number;
  /** The header traceparent; absent without a valid one. */
  traceparent?: string | undefined;
  /** Name of the MCP client; absent for requests over the API. */
  mcpClient?: string;
}

/** The deadline that is running. fresh: the first one (the hold, or the client's own waiting time); late: the last one. */
export type Patience = "fresh" | "late";

export interface PendingOwner {
  left(pending: PendingCommand): void;
}

export class PendingCommand implements WheelEntry, ExchangeWatcher {
  readonly id: number;
  readonly kind: CommandKind;
  readonly exchange: Exchange;
  readonly waitUs: number | null;
  readonly endWaitUs: number;
  readonly bytes: number;
  readonly arrivedUs: number;
  patience: Patience = "fresh";
  /** Epoch under which the command was last sent; 0 if never sent. */
  sentEpoch = 0;
  /** The client has its answer, was cut off or disconnected: a later answer cannot be delivered. */
  gone = false;
  /** The command is decided and stored, so it must not be resent even if its answer is lost. */
  decided = false;
  /** The current deadline. */
  dueUs = 0;
  slot = -1;
  previous: WheelEntry | null = null;
  next: WheelEntry | null = null;
  #owner: PendingOwner;
  readonly #target: number;
  readonly #name: string;
  readonly #local: boolean;
  readonly #idempotency: IdempotencyKey | null;
  readonly #mcpClient: string | undefined;
  readonly #ruleDepth: number;
  readonly #traceparent: string | undefined;
  #body: unknown;

  constructor(owner: PendingOwner, id: number, request: CommandRequest, exchange: Exchange, nowUs: number) {
    this.#owner = owner;
    this.id = id;
    this.kind = request.kind;
    this.exchange = exchange;
    this.waitUs = request.waitUs;
    this.endWaitUs = request.endWaitUs ?? 0;
    this.bytes = request.bytes;
    this.arrivedUs = nowUs;
    this.#target = request.target;
    this.#name = request.name ?? "";
    this.#body = request.body;
    this.#idempotency = request.idempotency;
    this.#mcpClient = request.mcpClient;
    this.#ruleDepth = request.ruleDepth ?? 0;
    this.#traceparent = request.traceparent;
    this.#local = exchange.isLocalPeer();
  }

  /** Moves the command to another table; it is then in no wheel. */
  moveTo(owner: PendingOwner): void {
    this.#owner = owner;
    this.slot = -1;
    this.previous = null;
    this.next = null;
  }

  /** The message for the actor: a new object each time, because an earlier message may not have left this thread yet. */
  toCommand(epoch: number): Command {
    this.sentEpoch = epoch;
    const { kind, id } = this;
    const idempotency = this.#idempotency;
    const head = { kind, id, epoch, target: this.#target, idempotency, local: this.#local };
    // The route of this kind has checked the body by the schema of CommandBodies.
    const command = { ...head, body: this.#body } as Command;
    if (this.#name !== "") command.target_name = this.#name;
    if (this.#mcpClient !== undefined) command.mcp_client = this.#mcpClient;
    if (this.#ruleDepth > 0) command.rule_depth = this.#ruleDepth;
    if (this.#traceparent !== undefined) command.traceparent = this.#traceparent;
    return command;
  }

  /** The client no longer waits, so the command is not resent and its body can be freed. */
  forget(): void {
    this.gone = true;
    this.#body = null;
  }

  data(): void {}

  writable(): void {}

  aborted(): void {
    this.#owner.left(this);
  }
}
