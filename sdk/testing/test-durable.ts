/** What a server keeps of a durable run, from memory, and how its waits end in a test. */
import type { NewWait, Step, Wait, WaitOutcome } from "#protocol/records/durable";
import type { State } from "#protocol/records/state";
import type { DurableServices } from "../durable/durable-services.ts";
import type { StepReported } from "../execution/report-item.ts";
import type { FakeClock } from "./fake-clock.ts";

/** An event of a test, which settles a wait of waitForEvent(). */
export interface GivenEvent {
  /** The name of the event. */
  name: string;
  /** What is given with it. Default: nothing. */
  payload?: Record<string, unknown>;
  /** When it occurs, in seconds from the begin of the run. Default: as soon as the run waits for it. */
  after?: number;
}

export interface Given {
  steps: Readonly<Record<string, unknown>>;
  children: Readonly<Record<string, unknown>>;
  events: readonly GivenEvent[];
  callbacks: readonly unknown[];
  answers: unknown[];
}

/** How a child of a test has ended. */
export interface ChildEnd {
  state: State;
  result: unknown;
}

interface Kept {
  spec: NewWait;
  wait: Wait;
  flow: object | undefined;
}

const NAMES = { sleep: "Sleeping", child: "AwaitingChild", event: "AwaitingEvent", callback: "AwaitingEvent", input: "Paused" };
const RANK = ["input", "event", "callback", "child", "sleep"] as const;

export class TestDurable implements DurableServices {
  readonly #clock: FakeClock;
  readonly #given: Given;
  readonly #startUs: number;
  readonly #steps = new Map<string, Step>();
  readonly #waits = new Map<string, Kept>();
  readonly #events: GivenEvent[];
  readonly #callbacks: unknown[];
  readonly #runChild: (flow: object, parameters: Record<string, unknown>) => Promise<ChildEnd>;

  constructor(
    clock: FakeClock,
    given: Given,
    runChild: (flow: object, parameters: Record<string, unknown>) => Promise<ChildEnd>,
  ) {
    this.#clock = clock;
    this.#given = given;
    this.#events = [...given.events];
    this.#callbacks = [...given.callbacks];
    this.#startUs = clock.nowUs();
    this.#runChild = runChild;
  }

  /** How many steps and waits the next execution finds. */
  get counts(): { steps: number; waits: number } {
    return { steps: this.#steps.size, waits: this.#waits.size };
  }

  given(name: string): { value: unknown } | undefined {
    return Object.hasOwn(this.#given.steps, name) ? { value: this.#given.steps[name] } : undefined;
  }

  async steps(): Promise<Step[]> {
    return [...this.#steps.values()];
  }

  async address(): Promise<string> {
    return "http://127.0.0.1:4270";
  }

  async step(identity: string): Promise<Step> {
    const step = this.#steps.get(identity);
    if (step === undefined) throw new Error(`there is no step ${identity}`);
    return step;
  }

  async waits(after: number): Promise<Wait[]> {
    for (const kept of this.#waits.values()) this.#settleDue(kept);
    return [...this.#waits.values()].map(({ wait }) => wait).filter(({ id }) => id > after);
  }

  async arm(waits: NewWait[], flows: ReadonlyMap<string, object>): Promise<Wait[]> {
    return waits.map((spec) => {
      const kept = this.#waits.get(spec.identity) ?? this.#armed(spec, flows.get(spec.identity));
      return kept.wait;
    });
  }

  /** The result of a step, which is kept at once. */
  keep({ identity, place, name, task_run_external_id, value, file }: StepReported): void {
    if (this.#steps.has(identity)) return;
    const about = { id: this.#steps.size + 1, run_id: 1, created_at: this.#clock.nowUs(), bytes: value?.length ?? 0 };
    const step = { ...about, identity, place, name, task_run_external_id: task_run_external_id ?? null };
    this.#steps.set(identity, { ...step, value: value ?? null, file: file ?? null });
  }

  /** The state of a run that waits for these. */
  stateOf(identities: readonly string[]): Pick<State, "type" | "name" | "message" | "details"> {
    const kept = identities.flatMap((identity) => this.#waits.get(identity) ?? []);
    const kind = RANK.find((each) => kept.some(({ spec }) => spec.kind === each)) ?? "sleep";
    const { spec } = kept.find((each) => each.spec.kind === kind) ?? {};
    if (spec?.kind === "input")
      return { type: "Paused", name: "Paused", message: spec.name, details: { ...(spec.question as Record<string, unknown>) } };
    const waits = kept.map(({ wait: { kind: each, name, due = null } }) => ({ kind: each, name, due }));
    return { type: "Scheduled", name: NAMES[kind], message: spec?.name ?? null, details: { waits } };
  }

  /** Settles the first of these waits, in simulated time; false if the test gives nothing for any of them. */
  async settleNext(identities: readonly string[], signal: AbortSignal | undefined): Promise<boolean> {
    const open = identities.flatMap((identity) => this.#waits.get(identity) ?? []);
    if (await this.#settleGiven(open)) return true;
    const dues = open.flatMap((kept) => [kept.wait.due ?? [], this.#eventDue(kept) ?? []].flat());
    if (dues.length === 0) return false;
    const untilUs = Math.min(...dues) - this.#clock.nowUs();
    await this.#clock.sleep(Math.max(0, untilUs / 1_000), signal).catch(() => undefined);
    if (signal?.aborted === true) return false;
    if (await this.#settleGiven(open)) return true;
    for (const kept of open) this.#settleDue(kept);
    return true;
  }

  async #settleGiven(open: readonly Kept[]): Promise<boolean> {
    for (const kept of open) {
      const outcome = await this.#givenNow(kept);
      if (outcome === null) continue;
      settle(kept.wait, outcome, this.#clock.nowUs());
      return true;
    }
    return false;
  }

  #armed(spec: NewWait, flow: object | undefined): Kept {
    const nowUs = this.#clock.nowUs();
    const id = this.#waits.size + 1;
    const { identity, place, kind, name } = spec;
    const wait: Wait = {
      ...{ id, identity, place, kind, name, created_at: nowUs, due: dueOf(spec, nowUs) },
      event: spec.kind === "event" ? spec.event : null,
      where: spec.kind === "event" ? (spec.where ?? null) : null,
      child_run_id: kind === "child" ? id + 1 : null,
      url: kind === "callback" ? `/api/callbacks/${identity}` : null,
      settled_at: null,
      outcome: null,
    };
    const kept = { spec, wait, flow };
    this.#waits.set(identity, kept);
    this.#settleDue(kept);
    return kept;
  }

  #settleDue({ spec, wait }: Kept): void {
    if (wait.outcome != null || wait.due == null || wait.due > this.#clock.nowUs()) return;
    settle(wait, spec.kind === "sleep" ? { kind: "slept" } : { kind: "timed_out" }, wait.due);
  }

  /** What the test gives for a wait by now. */
  async #givenNow({ spec, wait, flow }: Kept): Promise<WaitOutcome | null> {
    if (wait.outcome != null) return wait.outcome;
    if (spec.kind === "input" && this.#given.answers.length > 0) return { kind: "answered", value: this.#given.answers.shift() };
    if (spec.kind === "callback" && this.#callbacks.length > 0) return { kind: "answered", value: this.#callbacks.shift() };
    if (spec.kind === "event") return this.#takeEvent(spec.event, spec.where ?? {});
    if (spec.kind !== "child") return null;
    const { state, result } = await this.#childEnd(spec.flow, spec.parameters ?? {}, flow);
    const { type, name, message } = state;
    return { kind: "child", run_id: wait.child_run_id ?? 0, state: { type, name, message }, result };
  }

  async #childEnd(path: string, parameters: Record<string, unknown>, flow: object | undefined): Promise<ChildEnd> {
    const name = path.slice(path.indexOf("/") + 1);
    if (Object.hasOwn(this.#given.children, name)) {
      const given = this.#given.children[name];
      const state = { type: "Completed", name: "Completed", timestamp: this.#clock.nowUs(), message: null, details: {} } as const;
      return { state, result: typeof given === "function" ? ((await given(parameters)) as unknown) : given };
    }
    if (flow === undefined) throw new Error(`the flow of child ${path} is not known here`);
    return await this.#runChild(flow, parameters);
  }

  #takeEvent(name: string, where: Record<string, unknown>): WaitOutcome | null {
    const nowUs = this.#clock.nowUs();
    const index = this.#events.findIndex((event) => this.#timeOf(event) <= nowUs && matches(event, name, where));
    const event = this.#events[index];
    if (event === undefined) return null;
    this.#events.splice(index, 1);
    const payload = JSON.parse(JSON.stringify(event.payload ?? {})) as Record<string, unknown>;
    return { kind: "event", event: { id: index + 1, name, occurred: nowUs, payload, run_id: null } };
  }

  /** When the next event occurs that settles this wait. */
  #eventDue({ spec }: Kept): number | null {
    if (spec.kind !== "event") return null;
    const times = this.#events
      .filter((event) => matches(event, spec.event, spec.where ?? {}))
      .map((event) => this.#timeOf(event));
    return times.length === 0 ? null : Math.min(...times);
  }

  #timeOf({ after = 0 }: GivenEvent): number {
    return this.#startUs + after * 1_000_000;
  }
}

function settle(wait: Wait, outcome: WaitOutcome, atUs: number): void {
  wait.outcome = outcome;
  wait.settled_at = atUs;
}

function dueOf(spec: NewWait, nowUs: number): number | null {
  if (spec.kind === "sleep") return spec.until ?? nowUs + (spec.delay ?? 0) * 1_000_000;
  const seconds = "timeout" in spec ? spec.timeout : undefined;
  return seconds === undefined ? null : nowUs + seconds * 1_000_000;
}

function matches(event: GivenEvent, name: string, where: Record<string, unknown>): boolean {
  if (event.name !== name) return false;
  const whole = { name, payload: event.payload ?? {} };
  return Object.entries(where).every(([path, value]) => JSON.stringify(at(whole, path)) === JSON.stringify(value));
}

function at(value: unknown, path: string): unknown {
  let found = value;
  for (const key of path.split("."))
    found = typeof found === "object" && found !== null ? (found as Record<string, unknown>)[key] : undefined;
  return found;
}
