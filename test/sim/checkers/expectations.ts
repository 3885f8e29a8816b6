/**
 * Expectations: each ends in exactly one of met, lapsed and cancelled, with the matching event; none lapses although the
 * expected event occurred; and each tick of a clock is decided once.
 */

import type { Request } from "../model-gateway.ts";
import type { SimulatedTime } from "../simulated-time.ts";
import { Violation } from "../trace.ts";
import type { Checker, Operation } from "./checker.ts";
import { means, type RuleHistory } from "./rule-history.ts";

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;

interface Expectation {
  rule: number;
  key: string;
  status: string;
  armedAt: number;
  deadline: number;
  /** Newest event when the expectation was armed. */
  armedAfter: number;
}

export class ExpectationsChecker implements Checker {
  readonly #known: RuleHistory;
  readonly #time: SimulatedTime;
  readonly #expectations = new Map<number, Expectation>();
  readonly #ticks = new Map<number, number>();
  readonly #lapsedTicks = new Set<string>();
  /** Whether acceptance of the clock was requested. */
  #accepted = false;
  /** Changes of expectations according to the events of the batch, and according to its rows. */
  #said: string[] = [];
  #done: string[] = [];
  /** Wall time since which the process has run without a step of the clock. */
  #steadySinceUs = 0;
  #wallOffsetUs = 0;

  constructor(known: RuleHistory, time: SimulatedTime) {
    this.#known = known;
    this.#time = time;
  }

  submitted(_id: number, { kind }: Request): void {
    if (kind === "AcceptClock") this.#accepted = true;
  }

  processStarted(): void {
    this.#steadySinceUs = this.#time.nowUs();
  }

  operation(operation: Operation): void {
    if (operation.name === "put_expectation") return this.#put(operation);
    if (operation.name === "insert_event") return this.#hear(operation);
    if (operation.name === "put_guards") this.#tick(operation);
  }

  afterCommit(): void {
    const [said, done] = [this.#said.sort().join(", "), this.#done.sort().join(", ")];
    if (said !== done) throw new Violation("one event per end", `events say [${said}], rows say [${done}]`);
    this.#said = [];
    this.#done = [];
    const offsetUs = this.#time.nowUs() - this.#time.monotonicUs();
    if (offsetUs !== this.#wallOffsetUs) this.#steadySinceUs = this.#time.nowUs();
    this.#wallOffsetUs = offsetUs;
  }

  atRest(): void {
    const nowUs = this.#time.nowUs();
    for (const [id, { status, deadline }] of this.#expectations)
      if (status === "open" && deadline < nowUs - MINUTE_US) throw new Violation("every expectation ends", `${id} is still open`);
  }

  /** Due but open expectations, and clocks that have not ticked yet. */
  get unfinished(): string | null {
    for (const { id, enabled, spec, sinceTime } of this.#known.rules.values()) {
      const fromUs = Math.max(sinceTime, this.#steadySinceUs);
      // A rule from before the clock was set back is silent until that time comes again.
      if (!enabled || spec.at === null || fromUs > this.#time.nowUs()) continue;
      const tick = (Math.floor(fromUs / MINUTE_US) + 1) * MINUTE_US;
      if ((this.#ticks.get(id) ?? 0) < tick) return `the clock of rule ${id} is to tick at ${tick}`;
    }
    for (const [id, { status, deadline }] of this.#expectations)
      if (status === "open" && deadline < this.#time.nowUs()) return `expectation ${id} is due and open`;
    return null;
  }

  #put(operation: Operation): void {
    const id = operation.number("id");
    const status = operation.text("status");
    const known = this.#expectations.get(id);
    if (known === undefined ? status !== "open" : known.status !== "open" || status === "open")
      throw new Violation("an expectation ends once", `${id} became ${status} after ${known?.status ?? "nothing"}`);
    const [rule, key] = [operation.number("rule_id"), operation.text("key")];
    const [armedAt, deadline] = [operation.number("armed_at"), operation.number("deadline")];
    const expectation = known ?? { rule, key, status, armedAt, deadline, armedAfter: this.#armedAfter(rule, key, armedAt) };
    if (known === undefined) this.#checkAlone(rule, key, id);
    if (status === "lapsed") this.#checkLapse(id, expectation);
    this.#expectations.set(id, { ...expectation, status });
    if (status !== "cancelled") this.#done.push(`${status === "open" ? "armed" : status} ${id}`);
  }

  /** The event that armed the expectation: the first candidate. */
  #armedAfter(rule: number, key: string, armedAt: number): number {
    const spec = this.#known.rules.get(rule)?.spec;
    const { cursor, events } = this.#known;
    const arming = this.#known
      .between(cursor, events.length)
      .find(
        (event) => event.occurred === armedAt && keyOf(event) === key && spec !== undefined && means(spec.when, event) !== false,
      );
    if (arming === undefined) throw new Violation("expectations are armed by events", `rule ${rule} ${key} at ${armedAt}`);
    return arming.id;
  }

  #checkAlone(rule: number, key: string, id: number): void {
    for (const [other, expectation] of this.#expectations)
      if (expectation.status === "open" && expectation.rule === rule && expectation.key === key)
        throw new Violation("one expectation of a kind", `${id} was armed beside ${other}`);
  }

  /** No event processed before the lapse may have met the expectation. */
  #checkLapse(id: number, { rule, key, armedAt, deadline, armedAfter }: Expectation): void {
    const unless = this.#known.rules.get(rule)?.spec.unless;
    if (unless == null) throw new Violation("rows have owners", `expectation ${id} of rule ${rule} lapsed`);
    for (const event of this.#known.between(armedAfter, this.#known.cursor)) {
      if (event.occurred < armedAt || event.occurred > deadline || keyOf(event) !== key) continue;
      if (this.#known.isGone(event) || this.#known.passed.has(event.id)) continue;
      if (!event.name.startsWith("rule.") && !event.name.startsWith("expectation.") && means(unless, event) === true)
        throw new Violation("what came in time meets", `expectation ${id} lapsed although event ${event.id} had come`);
    }
  }

  #hear(operation: Operation): void {
    const name = operation.text("name");
    if (!name.startsWith("expectation.")) return;
    const payload = JSON.parse(operation.text("payload")) as Record<string, number | null>;
    const id = name === "expectation.lapsed" ? payload["expectation_id"] : payload["id"];
    if (id !== null) {
      this.#said.push(`${name.slice("expectation.".length)} ${id}`);
      return;
    }
    const tick = `${payload["rule_id"]} ${payload["deadline"]}`;
    if (this.#lapsedTicks.has(tick)) throw new Violation("a tick is decided once", `tick ${tick} lapsed twice`);
    this.#lapsedTicks.add(tick);
  }

  #tick(operation: Operation): void {
    const { tick } = JSON.parse(operation.text("state")) as { tick?: number };
    if (tick === undefined) return;
    const rule = operation.number("rule_id");
    const before = this.#ticks.get(rule) ?? 0;
    if (tick < before) {
      // After the clock was accepted, a rule whose ticks were ahead continues from now.
      if (!this.#accepted || before - tick <= HOUR_US) throw new Violation("ticks only grow", `rule ${rule} has decided ${tick}`);
      this.#forgetLapses(rule, tick);
    }
    this.#ticks.set(rule, tick);
  }

  #forgetLapses(rule: number, afterUs: number): void {
    for (const lapsed of this.#lapsedTicks) {
      const [ofRule, deadline] = lapsed.split(" ").map(Number);
      if (ofRule === rule && Number(deadline) > afterUs) this.#lapsedTicks.delete(lapsed);
    }
  }
}

function keyOf({ run, flow }: { run: number | null; flow: number | null }): string | null {
  return run !== null ? `run:${run}` : flow !== null ? `flow:${flow}` : null;
}
