/** A run that must not share its engine is the only run of its engine. */
import type { Coverage } from "../coverage.ts";
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Checker, Operation } from "./checker.ts";
import { readExchange } from "./exchange-answers.ts";
import { crashedBefore, type History } from "./history.ts";

export class ExclusiveChecker implements Checker {
  readonly #coverage: Coverage;
  /** Reruns of flows that set no limit. */
  readonly #crashRetriesDefault: number;
  /** Engine and process of each run that an engine holds. */
  readonly #holders = new Map<number, string>();
  /** Reruns of a run that may have ended its engine. */
  readonly #alone = new Set<number>();
  /** Processes of engines that exchange, as "id/pid". */
  readonly #exchanging = new Set<string>();

  constructor(coverage: Coverage, crashRetriesDefault: number) {
    this.#coverage = coverage;
    this.#crashRetriesDefault = crashRetriesDefault;
  }

  submitted(_id: number, request: Request): void {
    if (request.kind !== "Exchange") return;
    const { engine_id, pid } = readExchange(request);
    this.#exchanging.add(`${engine_id}/${pid}`);
  }

  operation(operation: Operation, history: History): void {
    const { name } = operation;
    if (name !== "insert_run" && name !== "update_run" && name !== "delete_run") return;
    const id = operation.number("id");
    if (name === "insert_run" && isOfUnknownFault(crashedBefore(operation.text("created_by")), history)) this.#alone.add(id);
    if (name !== "delete_run" && operation.number("assigned") === 1)
      this.#holders.set(id, `${operation.text("engine_id")}/${operation.number("engine_pid")}`);
    else this.#holders.delete(id);
  }

  afterCommit(_commit: unknown, history: History): void {
    const runs = new Map<string, number[]>();
    for (const [run, engine] of this.#holders) {
      if (!history.runs.has(run)) this.#holders.delete(run);
      else runs.set(engine, [...(runs.get(engine) ?? []), run]);
    }
    for (const [engine, held] of runs) {
      const exclusive = held.find((run) => this.#alone.has(run) || this.#isExclusive(run, history));
      if (exclusive === undefined) continue;
      if (this.#alone.has(exclusive)) this.#coverage.exchange("a run that is to run alone");
      if (this.#exchanging.has(engine)) this.#coverage.exchange("an exclusive run on an engine with slots");
      if (held.length === 1) continue;
      throw new Violation(
        "exclusive runs share no engine",
        `${engine} has runs ${held.join(", ")}, and ${exclusive} is exclusive`,
      );
    }
  }

  #isExclusive(run: number, { runs, flows }: History): boolean {
    const { exclusive, crash_retries } = flows.get(runs.get(run)?.flow ?? 0)?.options ?? {};
    return exclusive === true || ((crash_retries ?? this.#crashRetriesDefault) === 0 && exclusive !== false);
  }
}

/** Whether a run crashed with others, and it is not known which of them was at fault. */
function isOfUnknownFault(run: number, { runs }: History): boolean {
  return runs.get(run)?.details["fault"] === "unknown";
}
