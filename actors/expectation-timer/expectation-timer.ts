/**
 * The expectation timer: knows the first deadline of the open expectations and the next ticks of rules' clocks.
 *
 * Messages in: deadlines or clocks may have changed; its own timer. Effects out: due deadlines and ticks, to the rule engine,
 * which first processes every earlier event. The timer has no state of its own: at a restart it is rebuilt from the live
 * state.
 */
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { REPORTS_WITHIN_US } from "../core/state/engine.ts";
import type { Rule, RuleBook } from "../core/state/rule.ts";
import { RULE_ENGINE } from "../names.ts";
import type { Rearm } from "../rule-engine/rule-messages.ts";
import { nextTick } from "./rule-clock.ts";

interface Due {
  kind: "Due";
}

export interface ExpectationPorts {
  nowUs(): number;
  /** The rules of the live state; null before the core's first start. */
  book(): RuleBook | null;
  /** Start time of the server by the current wall clock: earlier ticks are not made up for. */
  startedAtUs(): number;
  /** Whether an engine that holds runs has not reported since the server started. */
  isEngineSilent(): boolean;
}

/** A due deadline or tick that is still undecided is sent again after this time, because the message may have been lost. */
const AGAIN_US = 1_000_000;
/** How often silent engines are looked for. */
const LOOK_US = 100_000;
/** A tick that is this late (the machine slept, the clock was set forward) counts as missed. */
const TICK_LATE_US = 60_000_000;

interface Tick {
  /** The cron expression, and the time up to which its ticks are decided. */
  clock: string;
  after: number;
  /** The time from which the tick was computed; later than `after` if ticks were missed. */
  from: number;
  due: number;
}

export class ExpectationTimer implements Actor<Rearm | Due> {
  readonly #ports: ExpectationPorts;
  /** Rules with a clock, cached for one version of the rules. */
  #clocked: { book: RuleBook | null; version: number; rules: Rule[] } = { book: null, version: 0, rules: [] };
  /** Next ticks by rule. */
  readonly #ticks = new Map<number, Tick>();
  /** When due deadlines and ticks were last sent. */
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
    if (this.#nextLapse(nowUs) <= nowUs) out.send(RULE_ENGINE, { kind: "DeadlinePassed", due: nowUs });
    for (const [rule_id, { due }] of this.#ticks) if (due <= nowUs) out.send(RULE_ENGINE, { kind: "ClockTick", rule_id, due });
  }

  #arm(out: Outbox): void {
    const nowUs = this.#ports.nowUs();
    let nextUs = this.#nextLapse(nowUs);
    for (const { due } of this.#ticks.values()) if (due < nextUs) nextUs = due;
    if (nextUs === Number.POSITIVE_INFINITY) return out.cancelTimer("due");
    // A value ahead of now was recorded before the clock was set back.
    const againUs = Math.min(this.#saidUs, nowUs) + AGAIN_US;
    out.setTimer("due", nextUs > nowUs ? nextUs : Math.max(nowUs, againUs), { kind: "Due" });
  }

  /** The first deadline. After the start, a passed one waits: what happened in time while the server was away is yet to be reported. */
  #nextLapse(nowUs: number): number {
    const deadline = this.#ports.book()?.expectations.first()?.deadline ?? Number.POSITIVE_INFINITY;
    const isStarting = nowUs - this.#ports.startedAtUs() < REPORTS_WITHIN_US;
    return deadline <= nowUs && isStarting && this.#ports.isEngineSilent() ? nowUs + LOOK_US : deadline;
  }

  /** Recomputes the next tick of each rule whose last tick is decided or whose cron expression changed. */
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
      // A tick computed from a later time was computed before the clock was set back.
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
