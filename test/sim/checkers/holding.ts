/** At most one engine holds a run at a time, under leases whose ids are never reused; a stale lease moves nothing. */
import type { ExchangeResponse } from "#protocol/records/exchange";
import { isTerminal } from "#protocol/records/state";
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Commit, Operation } from "./checker.ts";
import { readExchange } from "./exchange-answers.ts";
import { type CommittedRun, type History, stateKey } from "./history.ts";

const RULE = "one engine holds a run";

export class HoldingChecker implements Checker {
  readonly #requests: ReadonlyMap<number, Request>;
  /** Newest lease of the batches before this one, and of all batches. */
  #newestBefore = 0;
  #newestLease = 0;

  constructor(requests: ReadonlyMap<number, Request>) {
    this.#requests = requests;
  }

  commit({ batch }: Commit, history: History): void {
    this.#newestBefore = this.#newestLease;
    for (let at = 0; at < batch.replies.length; at += 3) {
      const request = this.#requests.get(Number(batch.replies[at]));
      if (request?.kind === "TransitionRun" && batch.replies[at + 1] === 200) checkLease(request, history);
    }
  }

  operation(operation: Operation, history: History): void {
    if (operation.name === "insert_lease") return this.#newLease(operation.number("id"), operation);
    if (operation.name !== "update_run") return;
    const before = history.runs.get(operation.number("id"));
    if (before === undefined) return;
    const after = operation.number("assignment_id");
    if (after < before.newestAssignment)
      throw new Violation(RULE, `run ${before.id} forgot assignment ${before.newestAssignment}`);
    checkMove(before, operation);
    if (operation.number("assigned") === 0) return;
    const type = operation.text("state_type");
    if (isTerminal(type as CommittedRun["type"]) || type === "Paused")
      throw new Violation(RULE, `run ${before.id} is ${type} and still assigned (${after})`);
    // An engine without leases goes on with a run that a person had paused or moved back: its assignment stands again.
    const isHeldAgain = before.assignment === null && after === before.newestAssignment && type === "Running";
    if (after === before.assignment || isHeldAgain) return this.#sameHolder(before, operation);
    this.#newLease(after, operation);
    const forced = operation.text("state_details").includes('"forced":true');
    const working = before.type !== "Scheduled" || before.name === "AwaitingRetry";
    // A run may be parked and woken in the same step.
    const isParked = type === "Scheduled" && history.durable.parks.has(before.id);
    if (before.assignment !== null && working && !forced && !isParked)
      throw new Violation(
        RULE,
        `run ${before.id} went from ${before.engine} to ${operation.text("engine_id")} while ${before.name}`,
      );
    if (operation.number("report_seq") !== 0)
      throw new Violation("report numbers", `run ${before.id} is assigned with report_seq`);
  }

  answered({ request, status, body }: Answer, history: History): void {
    if (status !== 200 || body === null) return;
    if (request.kind === "Exchange") return checkExchange(request, body, history);
    if (request.kind !== "Work") return;
    const { run } = JSON.parse(body) as { run: { kind: string; run_id: number; lease?: number } | null };
    if (run === null || run.kind !== "run") return;
    const { engine_id } = request.body as { engine_id: string };
    const held = [...history.assignments].filter(([, one]) => one.run === run.run_id && one.engine === engine_id);
    const found = run.lease === undefined ? held.length > 0 : held.some(([lease]) => lease === run.lease);
    if (!found) throw new Violation("nothing before its commit", `${engine_id} was given run ${run.run_id}, which is not stored`);
  }

  #sameHolder(before: CommittedRun, operation: Operation): void {
    if (operation.get("engine_id") !== before.engine)
      throw new Violation(RULE, `run ${before.id} changed its engine within assignment ${before.assignment}`);
    if (operation.number("report_seq") < before.reportSeq)
      throw new Violation("report numbers", `run ${before.id}: last_seq fell from ${before.reportSeq}`);
  }

  /** Leases and assignments share one sequence; an assignment with resources is both. */
  #newLease(id: number, operation: Operation): void {
    if (id <= this.#newestBefore) throw new Violation("ids never return", `lease ${id} of ${operation.name} was given before`);
    this.#newestLease = Math.max(this.#newestLease, id);
  }
}

/** A move accepted under a lease must have used the newest lease of its run. */
function checkLease(request: Request, history: History): void {
  const { lease, force } = JSON.parse(String(request.body)) as { lease?: number; force?: boolean };
  const newest = history.runs.get(request.target)?.newestAssignment ?? 0;
  if (lease !== undefined && force !== true && lease < newest)
    throw new Violation(
      "stale leases move nothing",
      `run ${request.target} moved under lease ${lease} while ${newest} is its newest`,
    );
}

/** Every run of an answer is a stored assignment of its engine, and so is every lease under which a report was accepted. */
function checkExchange(request: Request, body: string, history: History): void {
  const { engine_id } = readExchange(request);
  const { runs, reports } = JSON.parse(body) as ExchangeResponse;
  const isHeld = (run: number, lease: number | null | undefined): boolean => {
    const assignment = history.assignments.get(lease ?? 0);
    return assignment?.run === run && assignment.engine === engine_id;
  };
  for (const { kind, run_id, lease } of runs)
    if (kind === "run" && !isHeld(run_id, lease))
      throw new Violation("nothing before its commit", `${engine_id} was given run ${run_id}, which is not stored`);
  for (const { run_id, lease, status } of reports)
    if (status === undefined && !isHeld(run_id, lease))
      throw new Violation(RULE, `a report of ${engine_id} about run ${run_id} was accepted under lease ${lease}`);
}

/** Engines with slots name their lease in the details of a move: only the newest lease of a run moves the run. */
function checkMove(before: CommittedRun, operation: Operation): void {
  const [type, name] = [operation.text("state_type"), operation.text("state_name")];
  const after = { type, name, timestamp: operation.number("state_timestamp") };
  if (stateKey(before.id, before) === stateKey(before.id, after)) return;
  const { lease } = operation.details;
  if (lease === undefined || lease === operation.number("assignment_id")) return;
  throw new Violation("stale leases move nothing", `run ${before.id} moved to ${name} under lease ${lease}`);
}
