/**
 * Exchanges are answered in their order, with no more new runs than the engine has slots; a run that was given and that its
 * engine has never named is given again, and one that the engine hands back waits again; an engine is told which of its runs
 * to stop; a refused report refuses no other.
 */
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Commit, Operation } from "./checker.ts";
import { type AnsweredExchange, acceptedRequests, exchangesOf, movedByPeople, readExchange } from "./exchange-answers.ts";
import type { History } from "./history.ts";

/** A run that was given to an engine which has not named it in any request. */
interface Unnamed {
  run: number;
  engine: string;
  pid: number;
}

interface Held {
  run_id: number;
  lease: number;
}

export class ExchangesChecker implements Checker {
  readonly #requests: ReadonlyMap<number, Request>;
  /** Number of the newest answered exchange, by engine and process. */
  readonly #newest = new Map<string, number>();
  /** Processes that have ended, as "id/pid": a request on its way may register such an engine once more. */
  readonly #ended = new Set<string>();
  readonly #leases = new Set<number>();
  /** By lease. */
  readonly #unnamed = new Map<number, Unnamed>();
  /** Unnamed runs that an answer of this commit leaves out. */
  #leftOut: [lease: number, unnamed: Unnamed][] = [];
  /** Runs that an answer of this commit took back. */
  #takenBack: Held[] = [];
  /**
   * Runs that were over or being cancelled before this commit, and that an answer of it does not name. A report of the same
   * exchange may end the run.
   */
  #unstopped: (Held & { mayEnd: boolean })[] = [];

  constructor(requests: ReadonlyMap<number, Request>) {
    this.#requests = requests;
  }

  submitted(_id: number, request: Request): void {
    const { kind, target, body } = request;
    if (kind === "Exchange") {
      const { held, reports } = readExchange(request);
      for (const { lease } of [...held, ...reports]) this.#unnamed.delete(lease);
    } else if (kind === "Report" || kind === "Heartbeat") {
      this.#named((JSON.parse(String(body)) as { run_id: number }).run_id);
    } else if (kind === "TransitionRun") this.#named(target);
  }

  engineEnded(engine: string, pid: number): void {
    this.#ended.add(`${engine}/${pid}`);
  }

  /** The core keeps the numbers of exchanges in memory only. */
  reloaded(): void {
    this.#newest.clear();
  }

  commit({ batch }: Commit, history: History): void {
    const given = new Set<number>();
    // An exchange of this commit may have met another state of these runs than the last one.
    const moved = movedByPeople(acceptedRequests(batch.replies, this.#requests));
    for (const answered of exchangesOf(batch.replies, this.#requests)) {
      this.#inOrder(answered);
      this.#withinSlots(answered, given, history);
      this.#lookForLeftOut(answered);
      this.#takenBack.push(...takenBack(answered));
      const isNamed = ({ run_id }: Held): boolean => answered.response.stop.some((order) => order.run_id === run_id);
      const isReported = ({ run_id, lease }: Held): boolean =>
        history.runs.get(run_id)?.assignment === lease && acceptedReports(answered).some((report) => report.run_id === run_id);
      for (const held of answered.request.held)
        if (isToStop(held, history) && !isNamed(held) && !moved.has(held.run_id))
          this.#unstopped.push({ ...held, mayEnd: isReported(held) });
    }
  }

  operation(operation: Operation): void {
    if (operation.name === "delete_engine") this.#forget(operation.text("id"));
  }

  afterCommit({ operations }: Commit, history: History): void {
    for (const operation of operations) if (/^(insert|update)_run$/.test(operation.name)) this.#given(operation);
    for (const [lease, { run, engine }] of this.#leftOut) {
      const given = history.runs.get(run);
      if (given?.assignment !== lease || !this.#unnamed.has(lease)) continue;
      // A person has begun it by a transition that was sent before the run was given: it is not begun a second time.
      if (given.type !== "Scheduled") continue;
      throw new Violation("lost runs are given again", `${engine} does not know of run ${run} (lease ${lease}), and is not told`);
    }
    for (const { run_id, lease } of this.#takenBack)
      if (history.runs.get(run_id)?.assignment === lease && history.runs.get(run_id)?.type === "Scheduled")
        throw new Violation("a run handed back waits again", `run ${run_id} is still held under lease ${lease}`);
    for (const held of this.#unstopped) {
      const { run_id, lease, mayEnd } = held;
      const isOver = history.runs.get(run_id)?.assignment !== lease;
      if (!isToStop(held, history) || (isOver && mayEnd)) continue;
      throw new Violation("engines are told what to stop", `run ${run_id} (lease ${lease}) was listed, and nothing said`);
    }
    this.#leftOut = [];
    this.#takenBack = [];
    this.#unstopped = [];
  }

  answered({ request, status, body }: Answer): void {
    if (request.kind !== "Exchange" || status === 200 || status >= 500) return;
    const { engine_id, exchange } = readExchange(request);
    if (status === 409) return;
    throw new Violation(
      "a refused report refuses no other",
      `exchange ${exchange} of ${engine_id} was refused: ${status} ${body}`,
    );
  }

  /** Each answer is to a newer exchange than the one before, or to the same one sent again. */
  #inOrder({ request, response }: AnsweredExchange): void {
    const { engine_id, pid, exchange } = request;
    const key = `${engine_id}/${pid}`;
    // What sends an engine away gives it nothing.
    if (response.exit) return void this.#newest.delete(key);
    if (this.#ended.has(key)) return;
    const newest = this.#newest.get(key) ?? 0;
    if (exchange < newest)
      throw new Violation("exchanges are answered in order", `${key}: exchange ${exchange} after exchange ${newest}`);
    this.#newest.set(key, exchange);
  }

  /** Runs that were given before come on top. */
  #withinSlots({ request, response }: AnsweredExchange, given: Set<number>, history: History): void {
    const leases = response.runs.flatMap(({ lease }) => (lease == null ? [] : [lease]));
    const fresh = leases.filter((lease) => !given.has(lease) && !history.assignments.has(lease));
    for (const lease of fresh) given.add(lease);
    if (fresh.length <= request.slots) return;
    const { engine_id, exchange, slots } = request;
    throw new Violation(
      "no more runs than slots",
      `exchange ${exchange} of ${engine_id} got ${fresh.length} runs for ${slots} slots`,
    );
  }

  #lookForLeftOut({ request, response }: AnsweredExchange): void {
    for (const [lease, unnamed] of this.#unnamed) {
      if (unnamed.engine !== request.engine_id || unnamed.pid !== request.pid) continue;
      if (!response.runs.some((item) => item.lease === lease)) this.#leftOut.push([lease, unnamed]);
    }
  }

  #given(operation: Operation): void {
    const lease = operation.number("assignment_id");
    // A person has begun it, as above, and may have moved it back since: it is the engine's until the engine's liveness ends.
    if (operation.text("state_type") !== "Scheduled") this.#unnamed.delete(lease);
    if (operation.number("assigned") === 0 || this.#leases.has(lease)) return;
    this.#leases.add(lease);
    const [run, pid] = [operation.number("id"), operation.number("engine_pid")];
    this.#unnamed.set(lease, { run, engine: operation.text("engine_id"), pid });
  }

  #named(run: number): void {
    for (const [lease, unnamed] of this.#unnamed) if (unnamed.run === run) this.#unnamed.delete(lease);
  }

  #forget(engine: string): void {
    for (const key of [...this.#newest.keys()]) if (key.startsWith(`${engine}/`)) this.#newest.delete(key);
  }
}

/** The runs that an engine handed back and whose report was not refused. */
function takenBack(answered: AnsweredExchange): Held[] {
  return acceptedReports(answered).filter(({ returned }) => returned);
}

function acceptedReports({ request, response }: AnsweredExchange): (typeof request)["reports"] {
  const accepted = response.reports.filter(({ status }) => status === undefined);
  return request.reports.filter(({ run_id }) => accepted.some((outcome) => outcome.run_id === run_id));
}

/** Whether an engine that lists this run is to be told to stop it. */
function isToStop({ run_id, lease }: Held, history: History): boolean {
  const run = history.runs.get(run_id);
  return run?.assignment !== lease || run.type === "Cancelling";
}
