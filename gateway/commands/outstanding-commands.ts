/**
 * Outstanding commands: requests that an actor decides, until the committed feed brings the answer.
 *
 * If a core is known (epoch > 0), a command is sent to it at once, else held. When the core restarts (Reloaded), all answers
 * of the former core have arrived before, so unanswered commands were not applied and are resent under the new epoch. A
 * command that cannot be answered in time ends in one of two ways:
 * - certainly not applied (never sent to the running core): 503 with Retry-After;
 * - perhaps applied: the connection is cut, so that the client does not take the response for a refusal. Commands that are
 *   not `refusable` (transitions) always end like this, because engines retry a cut transition but give up after a 503.
 *   Long-polls may get 503, because an undelivered answer is taken back.
 */

import { type Refusal, refuse } from "#protocol/errors";
import type { ServerInfo } from "#protocol/records/server";
import { COMMANDS, type Command, type CommandKind, type CommandNotice } from "#protocol/wire/command";
import type { Primitive, ReadOnly } from "#protocol/wire/feed";
import { Durations } from "#runtime/durations";
import type { Alarm } from "#runtime/timers";
import type { BodyMemory } from "../request/body-budget.ts";
import { reply, replyRefusal } from "../request/reply.ts";
import type { Exchange } from "../transport/transport-port.ts";
import { CommandTable } from "./command-table.ts";
import { DeadlineWheel } from "./deadline-wheel.ts";
import { Parking } from "./long-polls.ts";
import { type CommandRequest, PendingCommand } from "./pending-command.ts";

/** How long a command waits for a core: longer than a restart takes, shorter than clients wait. */
const HOLD_US = 5_000_000;
/** How long a command that is not refusable waits for a store that rejects writes; then the client is cut and retries. */
const UNWRITTEN_HOLD_US = 800_000;
/** How long a decision may take: less than the 30 s after which engines give up a request. */
const DECIDE_US = 25_000_000;
/** How long the answer to an expired long-poll may take. */
const POLL_GRACE_US = 5_000_000;
/** How long the command of a departed client is kept: longer than an answer already on its way can take. */
const DEPARTED_KEPT_US = 30_000_000;
/** Maximum of undecided requests, long-polls excluded: half a second of what two cores decide. */
const DECIDING_MAX = 10_000;
/** Maximum of waiting requests: 10,000 parked engines are expected, ten times that is a flood. */
const OUTSTANDING_MAX = 100_000;

export interface CommandPorts {
  send(actor: string, message: Command | CommandNotice): void;
  /** Monotonic time in microseconds. */
  now(): number;
  alarm: Alarm;
  /** The newest stream number: the only field of a core's answer that only the gateway knows. */
  latestSeq(): number;
  /** Answers a creation, whose answer without waiting is `text`, when the run has ended. */
  awaitEnd(exchange: Exchange, text: string, waitUs: number): void;
  /** The record of a stored event, for answers that consist of an event. */
  renderEvent(id: number): string | null;
  /** The budget to which body memory is returned. */
  bodies: BodyMemory;
  /** First command id; above all ids of earlier gateways of this process. */
  firstId: number;
}

export class OutstandingCommands {
  readonly #ports: CommandPorts;
  readonly #parking: Parking;
  readonly #wheel: DeadlineWheel<PendingCommand>;
  readonly #pending = new CommandTable<PendingCommand>();
  readonly #bodies: BodyMemory;
  #nextId: number;
  #epoch = 0;
  /** Commands whose client is waiting. */
  #waiting = 0;
  /** Those among the waiting commands that are no long-polls. */
  #deciding = 0;
  /** The reason and start of the read-only state, or null. */
  #readOnly: ReadOnly | null = null;
  /** From the arrival of a request that changes something to its answer, long-polls excluded. */
  readonly acknowledgements = new Durations();
  #phase: "open" | "stopping" | "closed" = "open";
  #drained: (() => void) | null = null;
  /** Set once this table has failed: later requests are forwarded to the new table. */
  #successor: OutstandingCommands | null = null;

  constructor(ports: CommandPorts) {
    this.#ports = ports;
    this.#bodies = ports.bodies;
    this.#nextId = ports.firstId;
    this.#parking = new Parking((actor, notice) => ports.send(actor, notice));
    this.#wheel = new DeadlineWheel(
      () => ports.now(),
      ports.alarm,
      (pending) => this.#outOfTime(pending),
    );
  }

  /** The budget for bodies of decided requests. */
  get bodies(): BodyMemory {
    return this.#bodies;
  }

  /** Commands without an answer, including those of departed clients. */
  get size(): number {
    return this.#pending.size;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Takes over a request and its body memory; the request will be answered or its connection cut. */
  submit(request: CommandRequest, exchange: Exchange): void {
    if (this.#successor !== null) {
      this.#successor.submit(request, exchange);
      return;
    }
    const refusal = this.#refusalOf(request);
    if (refusal !== null) {
      this.#bodies.giveBytes(request.bytes);
      if (COMMANDS[request.kind].refusable) replyRefusal(exchange, refusal);
      else exchange.cut();
      return;
    }
    const nowUs = this.#ports.now();
    const pending = new PendingCommand(this, this.#pending.freeId(this.#nextId), request, exchange, nowUs);
    this.#nextId = pending.id + 1;
    this.#count(pending, 1);
    this.#pending.add(pending);
    exchange.watch(pending);
    if (this.#holdsBack(pending)) return this.#setDeadline(pending, nowUs + UNWRITTEN_HOLD_US);
    if (this.#epoch > 0) this.#send(pending);
    if (pending.waitUs === 0) this.#expire(pending);
    else this.#setDeadline(pending, nowUs + (pending.waitUs ?? HOLD_US));
  }

  /**
   * Takes over the commands of a failed table with their ids, connections and deadlines. Later answers of the feed settle
   * them, so no command is resent.
   */
  takeOver(former: OutstandingCommands): void {
    this.#epoch = former.#epoch;
    this.#readOnly = former.#readOnly;
    this.#nextId = former.#nextId;
    for (const pending of former.#pending.all()) {
      pending.moveTo(this);
      this.#pending.add(pending);
      this.#wheel.add(pending, pending.dueUs);
      if (!pending.gone) this.#count(pending, 1);
    }
    former.#successor = this;
    former.#pending.clear();
    former.#wheel.stop();
  }

  /** Cuts the connection of a command whose answer cannot be sent. */
  cut(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined || pending.gone) return;
    pending.exchange.cut();
    this.#close(pending);
  }

  /** Sends the answers of a commit; flat: command id, status, body. */
  settle(replies: readonly Primitive[]): void {
    const nowUs = this.#ports.now();
    for (let index = 0; index < replies.length; index += 3) {
      const pending = this.#pending.get(Number(replies[index]));
      if (pending === undefined) continue;
      if (pending.gone) {
        this.#parking.undelivered(pending);
        this.#wheel.remove(pending);
        this.#pending.delete(pending.id);
        continue;
      }
      const body = replies[index + 2];
      const text = typeof body === "number" ? this.#ports.renderEvent(body) : this.#completed(pending.kind, body ?? null);
      const status = Number(replies[index + 1]);
      if (pending.endWaitUs > 0 && status === 201 && text !== null)
        this.#ports.awaitEnd(pending.exchange, text, pending.endWaitUs);
      else reply(pending.exchange, status, text);
      if (pending.waitUs === null && COMMANDS[pending.kind].writes) this.acknowledgements.add(nowUs - pending.arrivedUs);
      this.#close(pending);
    }
  }

  /** Marks commands that are stored although their answers may be lost. */
  decided(commands: readonly number[]): void {
    for (const id of commands) {
      const pending = this.#pending.get(id);
      if (pending !== undefined) pending.decided = true;
    }
  }

  /** The core runs under a new epoch: unanswered commands were not applied and are resent; stored commands are cut. */
  reloaded(epoch: number): void {
    this.#epoch = epoch;
    for (const pending of this.#pending.all()) {
      if (pending.gone) {
        this.#wheel.remove(pending);
        this.#pending.delete(pending.id);
      } else if (pending.decided) {
        pending.exchange.cut();
        this.#close(pending);
      } else if (pending.sentEpoch !== epoch && !this.#refuseOrHold(pending)) {
        this.#send(pending);
      }
    }
  }

  /** Why no command is decided at present, or null. */
  get problem(): string | null {
    if (this.#epoch === 0) return "starting: the stored state is being read";
    return this.#readOnly === null ? null : `the store takes no changes: ${this.#readOnly.error}`;
  }

  /**
   * The store starts or stops rejecting writes. All earlier commits have arrived in the feed, so an unanswered command that
   * writes was not applied, unless the store is silent.
   */
  readOnly(message: ReadOnly): void {
    if (message.on) {
      this.#readOnly = message;
      if (message.silent) return;
      for (const pending of this.#pending.all()) {
        if (!pending.gone && !pending.decided) this.#refuseOrHold(pending);
      }
      return;
    }
    this.#readOnly = null;
    if (this.#epoch === 0) return;
    for (const pending of this.#pending.all()) {
      if (!pending.gone && pending.sentEpoch !== this.#epoch) this.#send(pending);
    }
  }

  /**
   * Rejects new requests, except polls for work: the core answers parked and new polls with "leave", so that engines leave a
   * stopping server. Expires other long-polls. Resolves when every client has its answer, also `others`, or after the grace period.
   */
  async stop(graceMs: number, others: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#phase = "stopping";
    for (const pending of this.#pending.all()) {
      const parked = !pending.gone && pending.waitUs !== null && pending.patience === "fresh";
      if (parked && COMMANDS[pending.kind].whileStopping !== "accepted") this.#expire(pending);
    }
    if (graceMs > 0) {
      const grace = Promise.withResolvers<void>();
      const timer = setTimeout(grace.resolve, graceMs);
      await Promise.race([Promise.all([this.#drain(), others]), grace.promise]);
      clearTimeout(timer);
    }
    this.#phase = "closed";
    for (const pending of this.#pending.all()) if (!pending.gone) this.#giveUp(pending);
    this.#wheel.stop();
  }

  /** Resolves when every client has its answer. */
  #drain(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** The client disconnected. */
  left(pending: PendingCommand): void {
    if (pending.gone) return;
    const certain = this.#isCertain(pending);
    this.#abandon(pending);
    this.#dismiss(pending, certain);
  }

  #refusalOf({ kind, waitUs }: CommandRequest): Refusal | null {
    const { refusable, whileStopping } = COMMANDS[kind];
    if (this.#phase !== "open" && whileStopping !== "accepted") return refuse(whileStopping);
    if (this.#phase === "closed") return refuse("unavailable");
    if (refusable && this.#holdsBack({ kind, waitUs })) return this.#unwritten(kind);
    const full = this.#pending.size >= OUTSTANDING_MAX || (waitUs === null && this.#deciding >= DECIDING_MAX);
    return full ? refuse("busy") : null;
  }

  /** A silent store holds back reads too, because their answers would wait behind its commit; polls wait anyway. */
  #holdsBack({ kind, waitUs }: Pick<CommandRequest, "kind" | "waitUs">): boolean {
    if (this.#readOnly === null) return false;
    return COMMANDS[kind].writes || (this.#readOnly.silent === true && waitUs === null);
  }

  #unwritten(kind: CommandKind): Refusal {
    if (!COMMANDS[kind].writes) return refuse("store_unreadable", this.#readOnly?.error ?? "");
    const full = this.#readOnly?.status === 507 && COMMANDS[kind].diskFull === 507;
    return refuse(full ? "disk_full" : "store_unavailable", this.#readOnly?.error ?? "");
  }

  /**
   * While the store rejects writes: answers a command that would write. A command that is not refusable waits a little.
   * Returns true when the command must not be sent now.
   */
  #refuseOrHold(pending: PendingCommand): boolean {
    if (!this.#holdsBack(pending)) return false;
    if (COMMANDS[pending.kind].refusable) this.#answer(pending, this.#unwritten(pending.kind));
    else this.#setDeadline(pending, Math.min(pending.dueUs, this.#ports.now() + UNWRITTEN_HOLD_US));
    return true;
  }

  #send(pending: PendingCommand): void {
    this.#ports.send(COMMANDS[pending.kind].actor, pending.toCommand(this.#epoch));
    if (pending.waitUs !== null && pending.patience === "late") this.#parking.expire(pending);
  }

  #outOfTime(pending: PendingCommand): void {
    if (pending.gone) {
      this.#pending.delete(pending.id);
      return;
    }
    if (pending.patience === "late" || this.#holdsBack(pending)) {
      this.#giveUp(pending);
      return;
    }
    if (pending.waitUs !== null) {
      this.#expire(pending);
      return;
    }
    if (COMMANDS[pending.kind].refusable && this.#isCertain(pending)) {
      this.#giveUp(pending);
      return;
    }
    pending.patience = "late";
    this.#setDeadline(pending, pending.arrivedUs + DECIDE_US);
  }

  /** The waiting time of a long-poll is over: asks the core to answer now, within a grace period. */
  #expire(pending: PendingCommand): void {
    pending.patience = "late";
    if (pending.sentEpoch > 0) this.#parking.expire(pending);
    this.#setDeadline(pending, this.#ports.now() + POLL_GRACE_US);
  }

  #setDeadline(pending: PendingCommand, dueUs: number): void {
    pending.dueUs = dueUs;
    this.#wheel.add(pending, dueUs);
  }

  /** True when the running core cannot have seen the command. */
  #isCertain(pending: PendingCommand): boolean {
    return pending.sentEpoch !== this.#epoch || this.#epoch === 0;
  }

  #giveUp(pending: PendingCommand): void {
    const certain = this.#isCertain(pending);
    if (COMMANDS[pending.kind].refusable && (certain || pending.waitUs !== null)) {
      this.#answer(pending, refuse("unavailable"));
      return;
    }
    pending.exchange.cut();
    this.#abandon(pending);
    this.#dismiss(pending, certain);
  }

  /** Answers with a refusal. The command is kept if its own answer may still arrive. */
  #answer(pending: PendingCommand, refusal: Refusal): void {
    replyRefusal(pending.exchange, refusal);
    const certain = this.#isCertain(pending);
    this.#abandon(pending);
    this.#dismiss(pending, certain);
  }

  /**
   * After the client is gone: forgets the command if no answer can arrive, else keeps it to report an undelivered answer to
   * the core.
   */
  #dismiss(pending: PendingCommand, certain: boolean): void {
    if (certain) {
      this.#pending.delete(pending.id);
      return;
    }
    this.#parking.abandon(pending);
    this.#setDeadline(pending, this.#ports.now() + DEPARTED_KEPT_US);
  }

  #close(pending: PendingCommand): void {
    this.#abandon(pending);
    this.#pending.delete(pending.id);
  }

  /** Ends the waiting of a client: removes the deadline and returns the body memory. */
  #abandon(pending: PendingCommand): void {
    this.#wheel.remove(pending);
    this.#bodies.giveBytes(pending.bytes);
    pending.forget();
    this.#count(pending, -1);
    if (this.#waiting === 0) this.#drained?.();
  }

  #count({ waitUs }: PendingCommand, by: 1 | -1): void {
    this.#waiting += by;
    if (waitUs === null) this.#deciding += by;
  }

  #completed(kind: CommandKind, body: Primitive): string | null {
    if (typeof body !== "string") return null;
    if (!COMMANDS[kind].completedByGateway) return body;
    const info = JSON.parse(body) as ServerInfo;
    const stream_seq = Math.max(info.stream_seq, this.#ports.latestSeq());
    const store_problem = this.#readOnly === null ? null : { message: this.#readOnly.error, since: this.#readOnly.since };
    return JSON.stringify({ ...info, stream_seq, store_problem } satisfies ServerInfo);
  }
}
