/**
 * Ids of events and log lines and stream numbers only grow; the feed carries each number once and in order. The feed may
 * leave out numbers of commits whose core ended together with the writers: no batch is resent then, and the gateway sees the
 * gap.
 */
import type { Committed } from "#protocol/wire/feed";
import { Violation } from "../trace.ts";
import type { Checker, Commit } from "./checker.ts";
import type { History } from "./history.ts";

const RULE = "numbers only grow";

export class NumberingChecker implements Checker {
  #lastEvent = 0;
  #lastLog = 0;
  #lastSeq = 0;
  #lastRun = 0;
  #lastTask = 0;
  #newBlock = true;
  #fedSeq = 0;
  /** One per start of the core: several may happen before the gateway is informed. */
  #gapsAllowed = 0;
  readonly #feedOf = new Map<number, string>();

  processStarted(): void {
    this.#newBlock = true;
    this.#fedSeq = 0;
  }

  coreStarted(): void {
    this.#gapsAllowed += 1;
  }

  commit({ batch, result, operations }: Commit): void {
    const events = operations.filter((operation) => operation.name === "insert_event").length;
    if (events > 0 && result.first_event_id !== this.#lastEvent + 1)
      throw new Violation(RULE, `events go on at ${result.first_event_id} after ${this.#lastEvent}`);
    this.#lastEvent += events;
    for (let at = 0; at < result.logs.length; at += 3) this.#logs(Number(result.logs[at + 1]), Number(result.logs[at + 2]));
    const entries = batch.stream.length / 2;
    if (entries === 0) return;
    const next = this.#lastSeq + 1;
    if (this.#newBlock ? result.first_seq < next : result.first_seq !== next)
      throw new Violation(RULE, `the stream goes on at ${result.first_seq} after ${this.#lastSeq}`);
    this.#newBlock = false;
    this.#lastSeq = result.first_seq + entries - 1;
  }

  operation(operation: { name: string; number(column: string): number }, history: History): void {
    if (operation.name === "insert_run") this.#lastRun = grown("run", operation.number("id"), this.#lastRun);
    if (operation.name === "put_task_run" && !history.tasks.has(operation.number("id")))
      this.#lastTask = grown("task run", operation.number("id"), this.#lastTask);
  }

  /** A message repeated after a crash of the writer equals the first one. */
  fed(message: Committed): void {
    const entries = message.stream.length / 2;
    if (entries === 0) return;
    const text = JSON.stringify([message.stream, message.first_event_id, message.logs]);
    const known = this.#feedOf.get(message.first_seq);
    if (known !== undefined && known !== text) throw new Violation(RULE, `stream number ${message.first_seq} was used twice`);
    this.#feedOf.set(message.first_seq, text);
    const last = message.first_seq + entries - 1;
    if (message.first_seq <= this.#fedSeq && last > this.#fedSeq)
      throw new Violation(RULE, `stream numbers ${message.first_seq}..${last} overlap ${this.#fedSeq}`);
    if (this.#fedSeq > 0 && message.first_seq > this.#fedSeq + 1) {
      if (this.#gapsAllowed === 0) throw new Violation(RULE, `the feed goes on at ${message.first_seq} after ${this.#fedSeq}`);
      this.#gapsAllowed -= 1;
    }
    this.#fedSeq = Math.max(this.#fedSeq, last);
  }

  #logs(lastId: number, count: number): void {
    if (lastId - count < this.#lastLog) throw new Violation(RULE, `log lines up to ${lastId} after ${this.#lastLog}`);
    this.#lastLog = lastId;
  }
}

function grown(what: string, id: number, last: number): number {
  if (id <= last) throw new Violation(RULE, `${what} ${id} after ${last}`);
  return id;
}
