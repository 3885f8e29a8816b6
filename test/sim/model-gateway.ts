/**
 * A model of the gateway: command ids, epochs, resending after Reloaded, notices about long-polls, and clients that may
 * disconnect. Deliberately small: its expectations of the feed are the requirements that the checkers apply to the server.
 */
import { COMMANDS, type Command, type CommandKind, type CommandNotice, type IdempotencyKey } from "#protocol/wire/command";
import { type Committed, type FeedMessage, type FeedRead, type Primitive, STREAM_CODE } from "#protocol/wire/feed";
import type { SlicedReport } from "#protocol/wire/report-slices";
import type { SimulatedTime } from "./simulated-time.ts";
import type { Trace } from "./trace.ts";

/** How long a decision may take before the connection is cut (gateway/commands/outstanding-commands.ts). */
const DECIDE_US = 25_000_000;
/** How long the answer to an expired long-poll may take. */
const POLL_GRACE_US = 5_000_000;

/** One report in this many goes to the core in slices, although small. */
const SLICED_EVERY = 3;

/** The outcome for a client: an answer, or a connection closed without one. */
export type Outcome = { kind: "Answer"; status: number; body: string | null } | { kind: "Cut" };

export interface Request {
  kind: CommandKind;
  target: number;
  target_name?: string;
  body: unknown;
  /** Null if the request is no long-poll. */
  waitUs: number | null;
  local: boolean;
  idempotency?: IdempotencyKey;
  traceparent?: string;
}

export interface Pending extends Request {
  id: number;
  sentEpoch: number;
  gone: boolean;
  expired: boolean;
  cancelTimer: () => void;
  settled(outcome: Outcome): void;
}

export interface GatewayPorts {
  time: SimulatedTime;
  trace: Trace;
  send(to: string, message: Command | CommandNotice): void;
  tellWriter(message: FeedRead): void;
  nextId(): number;
  /** Callbacks for the checkers. */
  fed(message: Committed): void;
  answered(pending: Pending, status: number, body: string | null): void;
  /** The core has started again: every answer of the former one came before. */
  reloaded(): void;
  /** The client of an answered request is gone. */
  undelivered(pending: Pending): void;
}

export class ModelGateway {
  readonly #ports: GatewayPorts;
  readonly #pending = new Map<number, Pending>();
  /** Commands that are stored, even if their answers were lost. */
  readonly #decided = new Set<number>();
  epoch = 0;
  #refusalStatus: number | null = null;
  #dead = false;

  constructor(ports: GatewayPorts) {
    this.#ports = ports;
  }

  /** Commands with a waiting client, long-polls excluded. */
  get unanswered(): Pending[] {
    return [...this.#pending.values()].filter((pending) => !pending.gone && pending.waitUs === null);
  }

  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null {
    if (this.#dead) {
      settled({ kind: "Cut" });
      return null;
    }
    const { writes, refusable } = COMMANDS[request.kind];
    if (this.#refusalStatus !== null && writes && refusable) {
      settled({ kind: "Answer", status: this.#refusalStatus, body: null });
      return null;
    }
    const pending: Pending = {
      ...request,
      id: this.#ports.nextId(),
      sentEpoch: 0,
      gone: false,
      expired: false,
      cancelTimer: () => undefined,
      settled,
    };
    this.#pending.set(pending.id, pending);
    if (this.epoch > 0 && !(this.#refusalStatus !== null && writes)) this.#send(pending);
    pending.cancelTimer = this.#ports.time.after(request.waitUs ?? DECIDE_US, () => this.#outOfTime(pending));
    return pending;
  }

  receive(message: FeedMessage): void {
    switch (message.kind) {
      case "Committed":
        this.#ports.fed(message);
        if (message.acknowledge !== undefined) this.#ports.tellWriter({ kind: "FeedRead", seq: message.acknowledge });
        return this.#settle([...message.replies, ...answersInStream(message.stream)]);
      case "Reloaded":
        return this.#reloaded(message.epoch);
      case "Decided":
        for (const id of message.commands) this.#decided.add(id);
        return;
      case "ReadOnly":
        return this.#readOnly(message.on ? message.status : null);
    }
  }

  /** The client of a request disconnects without waiting for its answer. */
  leave(pending: Pending): void {
    if (pending.gone || this.#dead) return;
    this.#forget(pending);
    pending.settled({ kind: "Cut" });
  }

  /** Any client that waits. */
  get waiting(): Pending[] {
    return [...this.#pending.values()].filter((pending) => !pending.gone);
  }

  /** The process ends: every connection is cut. */
  kill(): void {
    this.#dead = true;
    for (const pending of this.#pending.values()) {
      pending.cancelTimer();
      if (!pending.gone) pending.settled({ kind: "Cut" });
    }
    this.#pending.clear();
  }

  #send(pending: Pending): void {
    pending.sentEpoch = this.epoch;
    const { kind, id, target, target_name, local, idempotency = null, traceparent } = pending;
    const named = { ...(target_name !== undefined && { target_name }), ...(traceparent !== undefined && { traceparent }) };
    const body = kind === "Report" && id % SLICED_EVERY === 0 ? inSlices(String(pending.body)) : pending.body;
    const head = { kind, id, epoch: this.epoch, target, ...named, idempotency, local };
    // The generator of requests makes bodies of their kind.
    this.#ports.send(COMMANDS[kind].actor, { ...head, body } as Command);
    if (pending.expired) this.#notify("Expired", pending);
  }

  #notify(kind: CommandNotice["kind"], pending: Pending): void {
    this.#ports.send(COMMANDS[pending.kind].actor, { kind, epoch: pending.sentEpoch, command: pending.id });
  }

  #settle(replies: readonly Primitive[]): void {
    for (let at = 0; at < replies.length; at += 3) {
      const pending = this.#pending.get(Number(replies[at]));
      if (pending === undefined) continue;
      this.#pending.delete(pending.id);
      pending.cancelTimer();
      if (pending.gone) {
        this.#ports.undelivered(pending);
        if (COMMANDS[pending.kind].reportsUndelivered) this.#notify("Undelivered", pending);
        continue;
      }
      const status = Number(replies[at + 1]);
      const body = replies[at + 2];
      const text = typeof body === "string" ? body : null;
      this.#ports.answered(pending, status, text);
      pending.settled({ kind: "Answer", status, body: text });
    }
  }

  #reloaded(epoch: number): void {
    this.epoch = epoch;
    this.#ports.reloaded();
    this.#ports.trace.add(`gateway: core runs under epoch ${epoch}`);
    for (const pending of [...this.#pending.values()]) {
      if (pending.gone) {
        pending.cancelTimer();
        this.#pending.delete(pending.id);
      } else if (this.#decided.has(pending.id)) this.#cut(pending);
      else if (pending.sentEpoch === epoch) continue;
      else if (this.#refusalStatus === null || !COMMANDS[pending.kind].writes) this.#send(pending);
      else if (COMMANDS[pending.kind].refusable) this.#refuse(pending, this.#refusalStatus);
    }
  }

  #readOnly(status: number | null): void {
    this.#refusalStatus = status;
    this.#ports.trace.add(`gateway: store ${status === null ? "takes writes" : `is read-only (${status})`}`);
    if (status !== null || this.epoch === 0) return;
    for (const pending of this.#pending.values()) {
      if (!pending.gone && pending.sentEpoch !== this.epoch) this.#send(pending);
    }
  }

  #refuse(pending: Pending, status: number): void {
    this.#pending.delete(pending.id);
    pending.cancelTimer();
    pending.settled({ kind: "Answer", status, body: null });
  }

  #cut(pending: Pending): void {
    this.#pending.delete(pending.id);
    pending.cancelTimer();
    pending.settled({ kind: "Cut" });
  }

  #outOfTime(pending: Pending): void {
    if (pending.gone) {
      this.#pending.delete(pending.id);
      return;
    }
    if (pending.waitUs !== null && !pending.expired) {
      pending.expired = true;
      if (pending.sentEpoch > 0) this.#notify("Expired", pending);
      pending.cancelTimer = this.#ports.time.after(POLL_GRACE_US, () => this.#outOfTime(pending));
      return;
    }
    this.#forget(pending);
    pending.settled({ kind: "Cut" });
  }

  /** The client no longer waits; the command is kept if its answer may still arrive. */
  #forget(pending: Pending): void {
    pending.gone = true;
    pending.cancelTimer();
    if (pending.sentEpoch !== this.epoch || this.epoch === 0) {
      this.#pending.delete(pending.id);
      return;
    }
    if (COMMANDS[pending.kind].parks) this.#notify("Abandoned", pending);
    pending.cancelTimer = this.#ports.time.after(DECIDE_US, () => this.#outOfTime(pending));
  }
}

/** An event.created entry that names a command is the answer to that command. */
function answersInStream(stream: readonly Primitive[]): Primitive[] {
  const replies: Primitive[] = [];
  for (let at = 0; at < stream.length; at += 2) {
    const command = stream[at + 1] ?? 0;
    if (stream[at] === STREAM_CODE["event.created"] && command !== 0) replies.push(command, 201, null);
  }
  return replies;
}

/** A report in slices, as the gateway sends large ones, with one event per slice. */
function inSlices(text: string): SlicedReport {
  const { events, lease = null, ...head } = JSON.parse(text) as Omit<SlicedReport, "slices" | "text"> & { events: unknown[] };
  const pieces = events.map((event) => Buffer.from(JSON.stringify(event)));
  const memory = new SharedArrayBuffer(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  const slices = pieces.map((piece): [number, number] => {
    new Uint8Array(memory).set(piece, at);
    at += piece.length;
    return [at - piece.length, at];
  });
  return { ...head, lease, count: events.length, text: memory, slices };
}
