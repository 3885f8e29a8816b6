/**
 * Requests of processes that have ended: a copy of an exchange reaches the server once another process has taken the name of
 * the engine and holds runs. An engine sends an exchange again over another connection when the first one is cut, so two
 * copies may be under way.
 */
import type { ExchangeFeature } from "./coverage.ts";
import type { EngineProcess, EngineTraits } from "./engine-process.ts";
import type { ModelGateway, Outcome, Pending, Request } from "./model-gateway.ts";
import type { SimulatedTime } from "./simulated-time.ts";

/** No request is under way for longer (FormerProcesses), less the time until it is handled. */
const UNDER_WAY_US = 50_000_000;
const LOOK_US = 100_000;

interface LateRequestPorts {
  time: SimulatedTime;
  gateway(): ModelGateway;
  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null;
  reached(feature: ExchangeFeature): void;
}

/** An exchange that the core of this gateway's epoch has answered: this core knows the process. */
interface Answered {
  request: Request;
  sentUs: number;
  gateway: ModelGateway;
  epoch: number;
}

export class LateRequests {
  readonly #ports: LateRequestPorts;
  /** The newest answered exchange of each process. */
  readonly #newest = new Map<number, Answered>();

  constructor(ports: LateRequestPorts) {
    this.#ports = ports;
  }

  /** Sends a request of an engine, and keeps an exchange that is answered. */
  submit({ pid }: EngineTraits, request: Request, settled: (outcome: Outcome) => void): Pending | null {
    const { time, gateway, submit } = this.#ports;
    if (request.kind !== "Exchange") return submit(request, settled);
    const sentUs = time.monotonicUs();
    return submit(request, (outcome) => {
      const isAnswered = outcome.kind === "Answer" && outcome.status === 200;
      if (isAnswered) this.#newest.set(pid, { request, sentUs, gateway: gateway(), epoch: gateway().epoch });
      settled(outcome);
    });
  }

  /** Another process has taken the name of an engine whose process has ended. */
  replaced(former: EngineTraits, successor: EngineProcess): void {
    const answered = this.#newest.get(former.pid);
    this.#newest.delete(former.pid);
    if (answered !== undefined) this.#arriveBeside(successor, answered);
  }

  /** A core that starts later knows nothing of the former process (docs/SEMANTICS.md), so the copy must arrive before. */
  #arriveBeside(successor: EngineProcess, answered: Answered): void {
    const { time, gateway, submit, reached } = this.#ports;
    const { request, sentUs, epoch } = answered;
    const isSameCore = gateway() === answered.gateway && gateway().epoch === epoch;
    if (!isSameCore || !successor.alive || time.monotonicUs() > sentUs + UNDER_WAY_US) return;
    if (successor.runs === 0) {
      time.after(LOOK_US, () => this.#arriveBeside(successor, answered));
      return;
    }
    reached("a late request of a former process");
    const copy = submit(request, () => undefined);
    if (copy !== null) gateway().leave(copy);
  }
}
