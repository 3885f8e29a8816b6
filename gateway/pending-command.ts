/** A request that an actor decides, from its arrival to its answer. */
import type { Command, CommandKind, IdempotencyKey } from "#protocol/command";
import type { WheelEntry } from "./deadline-wheel.ts";
import type { Exchange, ExchangeWatcher } from "./transport-port.ts";

/** What a request asks of an actor. */
export interface CommandRequest {
  kind: CommandKind;
  target: number;
  /** The decoded name in the path, empty or absent without one. */
  name?: string;
  body: unknown;
  /** Memory the body takes; counted until the answer, because the body may be sent again. */
  bytes: number;
  /** How long the client is willing to wait for something to happen; null where it is no long-poll. */
  waitUs: number | null;
  idempotency: IdempotencyKey | null;
  /** Name of the client that asks through MCP; absent where the request came over the API. */
  mcpClient?: string;
}

/**
 * How far its waiting has come.
 * fresh: the first deadline is running (the hold, or the client's own waiting time); late: the last one is.
 */
export type Patience = "fresh" | "late";

export interface PendingOwner {
  left(pending: PendingCommand): void;
}

export class PendingCommand implements WheelEntry, ExchangeWatcher {
  readonly id: number;
  readonly kind: CommandKind;
  readonly exchange: Exchange;
  readonly waitUs: number | null;
  readonly bytes: number;
  readonly arrivedUs: number;
  patience: Patience = "fresh";
  /** The start of the core it was last sent to; 0: it was never sent. */
  sentEpoch = 0;
  /** The client has its answer, was cut off, or went away: what comes now is for nobody. */
  gone = false;
  /** The deadline that is running. */
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
  #body: unknown;

  constructor(owner: PendingOwner, id: number, request: CommandRequest, exchange: Exchange, nowUs: number) {
    this.#owner = owner;
    this.id = id;
    this.kind = request.kind;
    this.exchange = exchange;
    this.waitUs = request.waitUs;
    this.bytes = request.bytes;
    this.arrivedUs = nowUs;
    this.#target = request.target;
    this.#name = request.name ?? "";
    this.#body = request.body;
    this.#idempotency = request.idempotency;
    this.#mcpClient = request.mcpClient;
    this.#local = exchange.isLocalPeer();
  }

  /** It belongs to another table from now on, and hangs in no wheel. */
  moveTo(owner: PendingOwner): void {
    this.#owner = owner;
    this.slot = -1;
    this.previous = null;
    this.next = null;
  }

  /** The message for the actor: a new one each time, because an earlier one may not have left this thread yet. */
  toCommand(epoch: number): Command {
    this.sentEpoch = epoch;
    const { kind, id } = this;
    const idempotency = this.#idempotency;
    const command: Command = { kind, id, epoch, target: this.#target, body: this.#body, idempotency, local: this.#local };
    if (this.#name !== "") command.target_name = this.#name;
    if (this.#mcpClient !== undefined) command.mcp_client = this.#mcpClient;
    return command;
  }

  /** Nobody waits for it any more, so it will not be sent again. */
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
