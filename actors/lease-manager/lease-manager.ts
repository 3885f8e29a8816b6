/**
 * The lease manager: leases that user code acquires inside a run.
 *
 * Messages in: acquire and release commands, notices about waiting acquires, freed capacity. Effects out: one decision per
 * step; a message to the dispatcher when a release frees capacity. Invariants: an acquire takes all its resources or none;
 * waiting acquires are served first in first out, except those of more than the total; a lease ends with its run.
 */

import { refuse } from "#protocol/errors";
import { LEASED_RESOURCES_MAX } from "#protocol/limits";
import type { Command, CommandNotice, CommandsOf } from "#protocol/wire/command";
import { type CommandHandlers, CoreActor, type MessageHandlers } from "../core/core-actor.ts";
import type { Waiting } from "../core/state/lease-lines.ts";
import type { Lease } from "../core/state/ledger.ts";
import { isEnded, type Run } from "../core/state/run.ts";
import type { Turn } from "../core/turn.ts";
import type { CapacityFreed, GatewayStarted } from "../dispatcher/dispatcher-messages.ts";
import { lackOf } from "../dispatcher/hand-out/lack.ts";
import { blockingOf } from "../dispatcher/hand-out/reservation.ts";
import { DISPATCHER } from "../names.ts";

export type LeasesMessage = CommandNotice | GatewayStarted | CapacityFreed;

/** Maximum of granted leases remembered for undeliverable answers, which are reported within moments. */
const GRANTS_REMEMBERED_MAX = 10_000;

export class LeaseManager extends CoreActor<CommandsOf<"lease-manager">, LeasesMessage> {
  protected readonly commands: CommandHandlers<CommandsOf<"lease-manager">> = {
    AcquireLease: (turn, command) => this.#acquire(turn, command),
    ReleaseLease: (turn, command) => this.#release(turn, command),
  };
  protected readonly messages: MessageHandlers<LeasesMessage> = {
    // A reservation that ended also lets a waiting acquire pass, though no resource was freed.
    CapacityFreed: (turn, { resources }) => this.#serve(turn, [...resources, ...this.state.reservations.keys()]),
    GatewayStarted: () => this.state.ledger.lines.clear(),
    Expired: (turn, { command }) => this.#expire(turn, command),
    Abandoned: (turn, { command }) => this.#leave(turn, command),
    Undelivered: (turn, { command }) => this.#takeBack(turn, command),
  };
  /** Leases by the command that was answered with them. */
  readonly #granted = new Map<number, number>();

  #acquire(turn: Turn, command: Command<"AcquireLease">): void {
    const { body } = command;
    const run = this.state.findRun(body.run_id);
    if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", body.run_id));
    const wrong = wrongAmount(body.resources);
    if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
    if (!canHold(run)) return turn.answers.refuse(command, refuse("run_ended", run.id));
    const resources = body.resources as Record<string, number>;
    if (this.state.ledger.explicitCount + Object.keys(resources).length > LEASED_RESOURCES_MAX)
      return turn.answers.refuse(command, refuse("too_many_leases", LEASED_RESOURCES_MAX));
    const wanted: Waiting = { command, runId: run.id, resources, sinceUs: turn.nowUs };
    if (this.#tryTake(turn, wanted)) return;
    if ((body.wait_ms ?? 0) > 0) this.state.ledger.lines.add(wanted);
    else this.#answerWaiting(turn, wanted);
  }

  /** Takes the lease and answers, unless a resource lacks capacity or an earlier acquire waits for one of them. */
  #tryTake(turn: Turn, wanted: Waiting): boolean {
    if (this.#blockingOf(wanted) !== null || this.state.ledger.lines.isBehind(wanted)) return false;
    const id = this.state.nextIds.lease;
    this.state.nextIds.lease += 1;
    const lease = { id, run_id: wanted.runId, kind: "explicit" } as const;
    this.state.ledger.take({ ...lease, resources: wanted.resources, sinceUs: turn.nowUs });
    turn.rows.put("insert_lease", { ...lease, resources: JSON.stringify(wanted.resources), created_at: turn.nowUs });
    turn.answers.json(wanted.command, 200, { lease: id });
    this.#remember(wanted.command.id, id);
    return true;
  }

  #blockingOf({ runId, resources }: Waiting): string | null {
    const run = this.state.findRun(runId);
    return run === undefined ? this.state.ledger.blocking(resources) : blockingOf(this.state, run, resources);
  }

  /** Serves the first acquires in the lines of these resources, as far as the resources suffice. */
  #serve(turn: Turn, resources: readonly string[]): void {
    const names = [...resources];
    for (const name of names) {
      for (
        let first = this.state.ledger.lines.firstOf(name);
        first !== undefined;
        first = this.state.ledger.lines.firstOf(name)
      ) {
        if (!this.#settle(turn, first)) break;
        // Other acquires are now first in the other lines of this one.
        for (const other of Object.keys(first.resources)) if (other !== name) names.push(other);
      }
    }
  }

  /** Answers a waiting acquire if possible: with its lease, or with a refusal because its run has ended. */
  #settle(turn: Turn, wanted: Waiting): boolean {
    const run = this.state.findRun(wanted.runId);
    const isOver = run === undefined || !canHold(run);
    if (isOver) turn.answers.refuse(wanted.command, refuse("run_ended", wanted.runId));
    else if (!this.#tryTake(turn, wanted)) return false;
    this.state.ledger.lines.remove(wanted);
    return true;
  }

  #expire(turn: Turn, command: number): void {
    const wanted = this.state.ledger.lines.find(command);
    if (wanted === undefined) return;
    this.state.ledger.lines.remove(wanted);
    this.#answerWaiting(turn, wanted);
    this.#serve(turn, Object.keys(wanted.resources));
  }

  /** The client disconnected: acquires behind this one may fit now. */
  #leave(turn: Turn, command: number): void {
    const wanted = this.state.ledger.lines.find(command);
    if (wanted === undefined) return;
    this.state.ledger.lines.remove(wanted);
    this.#serve(turn, Object.keys(wanted.resources));
  }

  #answerWaiting(turn: Turn, wanted: Waiting): void {
    const { command, runId, resources } = wanted;
    const run = this.state.findRun(runId);
    if (command.body.explain === true && run !== undefined) {
      const { resource, text, unreachable } = lackOf(this.state, run, resources, {
        isBehind: this.state.ledger.lines.isBehind(wanted),
      });
      return turn.answers.json(command, 200, { waiting: resource, text, unreachable });
    }
    const names = Object.keys(resources).sort();
    turn.answers.json(command, 200, { waiting: this.#blockingOf(wanted) ?? names[0] ?? "" });
  }

  /** Ends the lease if it belongs to that run; any other lease id is accepted without effect. */
  #release(turn: Turn, command: Command<"ReleaseLease">): void {
    const { body } = command;
    const lease = this.state.ledger.get(body.lease);
    if (lease !== undefined && lease.run_id === body.run_id && lease.kind === "explicit") this.#end(turn, lease);
    turn.answers.json(command, 200, { ok: true });
  }

  #end(turn: Turn, lease: Lease): void {
    const resources = this.state.ledger.end(lease.id);
    turn.rows.put("delete_lease", { id: lease.id });
    this.#serve(turn, resources);
    turn.out.send(DISPATCHER, { kind: "CapacityFreed", resources });
  }

  #remember(command: number, lease: number): void {
    this.#granted.set(command, lease);
    const oldest = this.#granted.keys().next().value;
    if (this.#granted.size > GRANTS_REMEMBERED_MAX && oldest !== undefined) this.#granted.delete(oldest);
  }

  /** Ends a lease whose answer was lost: its run does not know the lease and would wait for itself. */
  #takeBack(turn: Turn, command: number): void {
    const lease = this.state.ledger.get(this.#granted.get(command) ?? 0);
    if (lease !== undefined) this.#end(turn, lease);
  }
}

/** Leases end with their run, at its pause and when it parks, so such runs get no new leases. */
function canHold(run: Run): boolean {
  return !isEnded(run) && run.state.type !== "Paused" && run.durable?.park == null;
}

/** The error in the amounts, or null: at least one name, each with a positive number. */
function wrongAmount(resources: Record<string, unknown>): string | null {
  const entries = Object.entries(resources);
  if (entries.length === 0) return "resources: expected at least one name with an amount";
  for (const [name, amount] of entries) {
    if (typeof amount !== "number" || !(amount > 0)) return `resources.${name}: expected a number above 0`;
  }
  return null;
}
