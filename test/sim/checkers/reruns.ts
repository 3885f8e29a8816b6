/**
 * A run that has begun is never begun again, only repeated by a rerun, within the limit of its flow; one crash in a line of
 * reruns is not counted. A run that was not begun when its engine ended is handed out again, and no crash is counted.
 */
import { isTerminal } from "#protocol/records/state";
import type { Coverage } from "../coverage.ts";
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Checker, Operation } from "./checker.ts";
import { readExchange } from "./exchange-answers.ts";
import { type CommittedRun, crashedBefore, type History, stateKey } from "./history.ts";

/** Causes of crashes that an engine's end explains, as the server words them. */
const ENGINE_ENDED = /^(crash limit reached: )?(engine process exited|no contact with its engine|server restarted while)/;

export class RerunsChecker implements Checker {
  readonly #coverage: Coverage;
  /** Reruns of flows that set no limit. */
  readonly #crashRetriesDefault: number;
  /** Assignments under which a run has begun. */
  readonly #begun = new Set<number>();
  /** Processes of engines that exchange, as "id/pid". */
  readonly #exchanging = new Set<string>();
  /** Crashes without a rerun so far, by run: whether the crash was not counted. */
  readonly #crashed = new Map<number, boolean>();
  /** Crashes that led to a rerun and were counted. */
  readonly #counted = new Map<number, number>();
  /** Crashes of a run, and of those that it repeats, that were not counted. */
  readonly #uncounted = new Map<number, number>();
  /** Runs for which somebody requested a move to Crashed, which names no cause of its own. */
  readonly #askedToCrash = new Set<number>();

  constructor(coverage: Coverage, crashRetriesDefault: number) {
    this.#coverage = coverage;
    this.#crashRetriesDefault = crashRetriesDefault;
  }

  submitted(_id: number, request: Request): void {
    const { kind, target, body } = request;
    if (kind === "TransitionRun" && /"type":"Crashed"/.test(String(body))) this.#askedToCrash.add(target);
    if (kind !== "Exchange") return;
    const { engine_id, pid } = readExchange(request);
    this.#exchanging.add(`${engine_id}/${pid}`);
  }

  operation(operation: Operation, history: History): void {
    if (operation.name === "insert_run") return this.#created(operation, history);
    const before = operation.name === "update_run" ? history.runs.get(operation.number("id")) : undefined;
    if (before === undefined) return;
    const isMoved = stateKey(before.id, before) !== stateKey(before.id, moveOf(operation));
    this.#stays(before, operation, history);
    if (isMoved) this.#moved(before, operation, history);
    if (operation.number("assigned") === 1 && this.#isStart(operation)) this.#begun.add(operation.number("assignment_id"));
  }

  /** People also move runs: engines that exchange name their lease in their own moves. */
  #isStart(operation: Operation): boolean {
    if (operation.text("state_type") === "Scheduled") return false;
    if (!this.#exchanging.has(`${operation.text("engine_id")}/${operation.number("engine_pid")}`)) return true;
    return operation.details["lease"] === operation.number("assignment_id");
  }

  /** A run that has begun stays with its engine until it ends, pauses, parks or is forced to wait again. */
  #stays(before: CommittedRun, operation: Operation, { durable }: History): void {
    const { assignment } = before;
    if (assignment === null || !this.#begun.has(assignment)) return;
    const { type } = moveOf(operation);
    const isKept = operation.number("assigned") === 1 && operation.number("assignment_id") === assignment;
    const isParked = type === "Scheduled" && durable.parks.has(before.id);
    if (isKept || isTerminal(type) || type === "Paused" || isParked || isForced(operation)) return;
    throw new Violation("a run begins once", `run ${before.id} had begun under lease ${assignment} and is ${type} without it`);
  }

  #moved(before: CommittedRun, operation: Operation, history: History): void {
    const { id, assignment } = before;
    const { type } = moveOf(operation);
    const message = String(operation.get("state_message"));
    const isUncounted = operation.text("state_details").includes('"uncounted":true');
    // A person may move a crashed run to Crashed again before its rerun; the rerun repeats the first crash. A run that is
    // forced to another state has no crash left to repeat.
    if (before.type === "Crashed" && type !== "Crashed") this.#crashed.delete(id);
    if (type === "Crashed" && !this.#crashed.has(id)) this.#crashed.set(id, isUncounted);
    if (type === "Crashed" && isUncounted) this.#notCounted(id);
    else if (isEndOfNeighbour(operation) && this.#limitOf(before.flow, history) > 0 && !this.#uncounted.has(id))
      throw new Violation("one crash is not counted", `run ${id} ended with another run for the first time, and it counts`);
    const isBegun = assignment !== null && this.#begun.has(assignment);
    if (type === "Pending" && isBegun && operation.details["lease"] === assignment)
      throw new Violation("a run begins once", `run ${id} begins again under lease ${assignment}`);
    if ((type !== "Crashed" && type !== "Failed") || assignment === null || isBegun || before.type !== "Scheduled") return;
    if (this.#askedToCrash.has(id)) return;
    if (this.#exchanging.has(`${before.engine}/${before.pid}`) && ENGINE_ENDED.test(message))
      throw new Violation(
        "only runs that had begun crash",
        `run ${id} was not begun by ${before.engine} and is ${type}: ${message}`,
      );
  }

  #created(operation: Operation, history: History): void {
    const [id, parent] = [operation.number("id"), crashedBefore(operation.text("created_by"))];
    if (parent === 0) return;
    const isUncounted = this.#crashed.get(parent);
    if (isUncounted === undefined) throw new Violation("a crash is repeated once", `run ${id} repeats run ${parent} again`);
    this.#crashed.delete(parent);
    const counted = (this.#counted.get(parent) ?? 0) + (isUncounted ? 0 : 1);
    this.#counted.set(id, counted);
    const limit = this.#limitOf(operation.number("flow_id"), history);
    if (limit === 0) throw new Violation("reruns have a limit", `run ${id} repeats run ${parent}, whose flow allows no rerun`);
    if (counted > limit) throw new Violation("reruns have a limit", `run ${id} is rerun ${counted} of ${limit}`);
    const uncounted = this.#uncounted.get(parent);
    if (uncounted !== undefined) this.#uncounted.set(id, uncounted);
  }

  #limitOf(flow: number, { flows }: History): number {
    return Number(flows.get(flow)?.options["crash_retries"] ?? this.#crashRetriesDefault);
  }

  #notCounted(run: number): void {
    this.#coverage.exchange("an uncounted crash");
    const count = (this.#uncounted.get(run) ?? 0) + 1;
    this.#uncounted.set(run, count);
    if (count > 1) throw new Violation("one crash is not counted", `run ${run} ends a line with ${count} that were not counted`);
  }
}

/** Whether a run crashed together with others, and another one was or may have been at fault. */
function isEndOfNeighbour(operation: Operation): boolean {
  const { fault, forced } = operation.details;
  const isCrash = operation.text("state_type") === "Crashed" || operation.details["crash"] !== undefined;
  return isCrash && forced !== true && (fault === "other" || fault === "unknown");
}

function moveOf(operation: Operation): Pick<CommittedRun, "type" | "name" | "timestamp"> {
  const [type, name] = [operation.text("state_type") as CommittedRun["type"], operation.text("state_name")];
  return { type, name, timestamp: operation.number("state_timestamp") };
}

function isForced(operation: Operation): boolean {
  return operation.text("state_details").includes('"forced":true');
}
