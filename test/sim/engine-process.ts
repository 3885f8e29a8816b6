/**
 * What every model of an engine process has: its life, silences, signals, and requests that are sent again until the server
 * answers. model-engine.ts is an engine that polls for one run at a time, model-slot-engine.ts one that exchanges.
 */
import type { EngineKeyFields } from "#actors/core/state/engine";
import type { WorkItem } from "#protocol/records/engine";
import type { StateType } from "#protocol/records/state";
import type { CommandKind } from "#protocol/wire/command";
import type { DurableFeature, ExchangeFeature } from "./coverage.ts";
import type { CoursePorts } from "./durable-course.ts";
import type { Outcome, Pending, Request } from "./model-gateway.ts";
import type { Trace } from "./trace.ts";

export const RETRY_US = 200_000;
export const HEARTBEAT_US = 5_000_000;
export const THINK_US = 60_000;
export const POLL_WAIT_US = 30_000_000;

export interface EngineTraits {
  id: string;
  pid: number;
  key: EngineKeyFields;
  /** Started by the server's pool. */
  spawned: boolean;
  /** Sends the lease with every request and ends its runs itself, like the bundled engine. */
  leases: boolean;
  /** On another host: judged by contact. */
  remote: boolean;
  obedient: boolean;
  /** Runs that the engine executes side by side, by exchanges; 0 for an engine that polls. */
  slots: number;
}

export interface EnginePorts extends CoursePorts {
  trace: Trace;
  host: string;
  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null;
  leave(pending: Pending): void;
  /** True once faults have stopped: runs are to end soon. */
  calm(): boolean;
  proposed(from: StateType | "none", to: StateType): void;
  /** The newest run, of whatever flow. */
  newestRun(): number;
  reached(feature: ExchangeFeature): void;
  reachedDurable(feature: DurableFeature): void;
  ended(engine: EngineProcess): void;
}

export abstract class EngineProcess {
  readonly traits: EngineTraits;
  alive = true;
  protected readonly ports: EnginePorts;
  /** Time of the server's last answer. */
  protected contactUs = 0;
  readonly #requests = new Set<Pending>();
  #silentUntilUs = 0;
  #life = 0;

  constructor(traits: EngineTraits, ports: EnginePorts) {
    this.traits = traits;
    this.ports = ports;
  }

  /** Number of runs in the hands of the engine. */
  abstract get runs(): number;

  abstract begin(): void;

  /** The process ends, for whatever reason. */
  die(why: string): void {
    if (!this.alive) return;
    this.alive = false;
    this.#life += 1;
    this.ports.trace.add(`${this.traits.id} (pid ${this.traits.pid}) ends: ${why}`);
    for (const pending of [...this.#requests]) this.ports.leave(pending);
    this.ports.ended(this);
  }

  beSilent(forUs: number): void {
    this.#silentUntilUs = this.ports.time.monotonicUs() + forUs;
  }

  signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (!this.alive) return;
    if (signal === "SIGKILL" || this.traits.obedient) this.later(THINK_US, () => this.die(signal));
  }

  /** Runs an action later, unless the process has ended or is silent. */
  protected later(meanUs: number, run: () => void): void {
    const life = this.#life;
    const wake = (): void => {
      if (this.#life !== life) return;
      const restUs = this.#silentUntilUs - this.ports.time.monotonicUs();
      if (restUs > 0) this.ports.time.after(restUs, wake);
      else run();
    };
    this.ports.time.after(this.ports.random.delayUs(meanUs), wake);
  }

  /** Sends a request once; `settled` gets what became of it, unless the process has ended. */
  protected send(request: Omit<Request, "local">, settled: (outcome: Outcome) => void): void {
    const life = this.#life;
    let pending: Pending | null = null;
    const done = (outcome: Outcome): void => {
      if (pending !== null) this.#requests.delete(pending);
      if (this.#life !== life) return;
      if (isAnswered(outcome)) this.contactUs = this.ports.time.monotonicUs();
      settled(outcome);
    };
    pending = this.ports.submit({ ...request, local: !this.traits.remote }, done);
    if (pending !== null) this.#requests.add(pending);
  }

  /** Sends a request and retries until the server answers, temporary errors excluded. */
  protected ask(
    kind: CommandKind,
    target: number,
    body: unknown,
    waitUs: number | null,
    answered: (status: number, body: string) => void,
  ): void {
    this.send({ kind, target, body, waitUs }, (outcome) => {
      if (isAnswered(outcome)) answered(outcome.status, outcome.body ?? "");
      else this.later(RETRY_US, () => this.ask(kind, target, body, waitUs, answered));
    });
  }

  /** Answers the bulk-completion check of a backfill; sometimes sends no answer. */
  protected check({ payload }: WorkItem): void {
    const { random, calm } = this.ports;
    if (random.chance(0.2) && !calm()) return;
    const { backfill_id } = payload as { backfill_id: number };
    const skip = ["2026-01-01", "2026-01-03", "2026-01-05"].filter(() => random.chance(0.5));
    this.later(THINK_US, () => this.ask("PrefilterBackfill", backfill_id, { skip }, null, () => undefined));
  }
}

/** Whether a request got an answer that counts: temporary errors do not. */
export function isAnswered(outcome: Outcome): outcome is Extract<Outcome, { kind: "Answer" }> {
  return outcome.kind === "Answer" && outcome.status < 500;
}
