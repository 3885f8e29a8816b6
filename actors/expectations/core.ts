/**
 * The expectation timer: knows when the first deadline of what rules wait for has passed, and when their clocks tick.
 *
 * Messages in: that deadlines or clocks may have changed, its own timer. Effects out: what is due, to the rule engine, which
 * looks at every event before that moment first. It keeps nothing of its own: it is started again from the live state.
 */

import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { RULES } from "../names.ts";
import type { Rearm } from "../rules/messages.ts";
import type { RuleBook } from "../rules/rule.ts";
import { nextTick } from "./clock.ts";

interface Due {
  kind: "Due";
}

export interface ExpectationPorts {
  nowUs(): number;
  /** The rules of the live state; null before its first start. */
  book(): RuleBook | null;
}

export class ExpectationTimer implements Actor<Rearm | Due> {
  readonly #ports: ExpectationPorts;
  /** Next ticks by rule; those missed while the server was down are not made up for. */
  #ticks = new Map<number, { due: number; clock: string }>();

  constructor(ports: ExpectationPorts, out: Outbox) {
    this.#ports = ports;
    this.#arm(out);
  }

  receive(message: Rearm | Due, out: Outbox): void {
    if (message.kind === "Due") this.#fire(out);
    this.#arm(out);
  }

  #fire(out: Outbox): void {
    const nowUs = this.#ports.nowUs();
    const first = this.#firstDeadline();
    if (first !== null && first <= nowUs) out.send(RULES, { kind: "DeadlinePassed", due: nowUs });
    for (const [rule_id, { due }] of this.#ticks) {
      if (due > nowUs) continue;
      this.#ticks.delete(rule_id);
      out.send(RULES, { kind: "ClockTick", rule_id, due });
    }
  }

  #arm(out: Outbox): void {
    this.#wind();
    const nowUs = this.#ports.nowUs();
    const first = this.#firstDeadline();
    const times = [...this.#ticks.values()].map(({ due }) => due);
    // What has passed is on its way; if it gets lost there, it is sent again.
    if (first !== null) times.push(first <= nowUs ? nowUs + RETRY_US : first);
    if (times.length === 0) return out.cancelTimer("due");
    out.setTimer("due", Math.min(...times), { kind: "Due" });
  }

  /** Computes the next tick of every clock that has none or is another one by now. */
  #wind(): void {
    const rules = this.#ports.book()?.rules ?? new Map();
    for (const id of this.#ticks.keys()) if (!rules.has(id)) this.#ticks.delete(id);
    for (const rule of rules.values()) {
      const { at } = rule.spec;
      if (at === null || !rule.enabled) {
        this.#ticks.delete(rule.id);
        continue;
      }
      const clock = `${at.cron} ${at.tz} ${rule.since_time}`;
      if (this.#ticks.get(rule.id)?.clock === clock) continue;
      const due = nextTick(at.cron, at.tz, this.#ports.nowUs());
      if (due !== null) this.#ticks.set(rule.id, { clock, due });
    }
  }

  #firstDeadline(): number | null {
    let first: number | null = null;
    for (const { deadline } of this.#ports.book()?.expectations.values() ?? [])
      if (first === null || deadline < first) first = deadline;
    return first;
  }
}

const RETRY_US = 100_000;
