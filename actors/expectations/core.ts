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
import type { Rule, RuleBook } from "../rules/rule.ts";
import { nextTick } from "./clock.ts";

interface Due {
  kind: "Due";
}

export interface ExpectationPorts {
  nowUs(): number;
  /** The rules of the live state; null before its first start. */
  book(): RuleBook | null;
  /** When the server started, by the clock as it is now: ticks before that are not made up for. */
  startedAtUs(): number;
}

/** What is due and has not been decided yet is said again after this: it may have been lost on its way. */
const AGAIN_US = 1_000_000;
/** A tick that nobody looked at for this long (the machine slept, the clock was set forward) counts as missed. */
const TICK_LATE_US = 60_000_000;

interface Tick {
  /** The clock, and the moment up to which its ticks are decided. */
  clock: string;
  after: number;
  /** The moment from which it was computed: a later one, where ticks were missed. */
  from: number;
  due: number;
}

export class ExpectationTimer implements Actor<Rearm | Due> {
  readonly #ports: ExpectationPorts;
  /** Rules with a clock, as they were at a version of the rules. */
  #clocked: { book: RuleBook | null; version: number; rules: Rule[] } = { book: null, version: 0, rules: [] };
  /** Next ticks by rule. */
  readonly #ticks = new Map<number, Tick>();
  /** When it last said what is due. */
  #saidUs = Number.NEGATIVE_INFINITY;

  constructor(ports: ExpectationPorts, out: Outbox) {
    this.#ports = ports;
    this.#wind();
    this.#arm(out);
  }

  receive(message: Rearm | Due, out: Outbox): void {
    this.#wind();
    if (message.kind === "Due") this.#fire(out);
    this.#arm(out);
  }

  #fire(out: Outbox): void {
    const nowUs = this.#ports.nowUs();
    this.#saidUs = nowUs;
    const first = this.#ports.book()?.expectations.first();
    if (first !== undefined && first.deadline <= nowUs) out.send(RULES, { kind: "DeadlinePassed", due: nowUs });
    for (const [rule_id, { due }] of this.#ticks) if (due <= nowUs) out.send(RULES, { kind: "ClockTick", rule_id, due });
  }

  #arm(out: Outbox): void {
    const nowUs = this.#ports.nowUs();
    const first = this.#ports.book()?.expectations.first();
    let nextUs = first?.deadline ?? Number.POSITIVE_INFINITY;
    for (const { due } of this.#ticks.values()) if (due < nextUs) nextUs = due;
    if (nextUs === Number.POSITIVE_INFINITY) return out.cancelTimer("due");
    // A time of saying that lies ahead is one from before the clock was set back.
    const againUs = Math.min(this.#saidUs, nowUs) + AGAIN_US;
    out.setTimer("due", nextUs > nowUs ? nextUs : Math.max(nowUs, againUs), { kind: "Due" });
  }

  /** Computes the next tick of every clock whose last one is decided by now, or that is another one. */
  #wind(): void {
    const rules = this.#clockedRules();
    const nowUs = this.#ports.nowUs();
    for (const rule of rules) {
      const { at } = rule.spec;
      if (at === null) continue;
      const after = Math.max(rule.guards.tick ?? 0, rule.since_time);
      const clock = `${at.cron} ${at.tz}`;
      const from = Math.max(after, this.#ports.startedAtUs(), nowUs - TICK_LATE_US);
      const known = this.#ticks.get(rule.id);
      // What was computed from a later moment was so before the clock was set back.
      const isCurrent = known?.after === after && known.clock === clock && known.from <= from;
      if (isCurrent && known.due >= nowUs - TICK_LATE_US) continue;
      const due = nextTick(at.cron, at.tz, from);
      if (due === null) this.#ticks.delete(rule.id);
      else this.#ticks.set(rule.id, { clock, after, from, due });
    }
  }

  #clockedRules(): readonly Rule[] {
    const book = this.#ports.book();
    const version = book?.version ?? 0;
    if (this.#clocked.book !== book || this.#clocked.version !== version) {
      const rules = [...(book?.rules.values() ?? [])].filter(({ spec, enabled }) => enabled && spec.at !== null);
      this.#clocked = { book, version, rules };
      const ids = new Set(rules.map(({ id }) => id));
      for (const id of this.#ticks.keys()) if (!ids.has(id)) this.#ticks.delete(id);
    }
    return this.#clocked.rules;
  }
}
