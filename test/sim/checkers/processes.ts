/**
 * The names of the pool's engines are given once by a server, and no more engines live than may; an engine with several begun
 * runs gets no signal because of one of them; a run does not end with the process of its engine while that process lives.
 */
import type { EngineProcess, EngineTraits } from "../engine-process.ts";
import { Violation } from "../trace.ts";
import type { Checker, Operation } from "./checker.ts";
import type { History } from "./history.ts";

const PROCESS_ENDED = /^(crash limit reached: )?engine process exited/;

export class ProcessesChecker implements Checker {
  readonly #history: History;
  readonly #enginesMax: number;
  readonly #isAlive: (pid: number) => boolean;
  /** Names given by the current server process. */
  readonly #names = new Set<string>();
  /** The newest process of each engine that exchanges. */
  readonly #newest = new Map<string, number>();
  /** Runs for which somebody requested a move to Crashed. */
  readonly #askedToCrash = new Set<number>();

  constructor(history: History, enginesMax: number, isAlive: (pid: number) => boolean) {
    this.#history = history;
    this.#enginesMax = enginesMax;
    this.#isAlive = isAlive;
  }

  processStarted(): void {
    this.#names.clear();
  }

  /** A process begins. Those that poll report crashes in words of their own, so only those that exchange are followed. */
  begun({ id, pid, slots }: EngineTraits): void {
    if (slots > 0) this.#newest.set(id, pid);
  }

  started(id: string, living: number): void {
    if (this.#names.has(id)) throw new Violation("a name is given once", `${id} is started a second time`);
    this.#names.add(id);
    // As many as accept runs may drain.
    if (living >= 2 * this.#enginesMax) throw new Violation("the pool has a limit", `${id} is started beside ${living} others`);
  }

  signalled({ traits: { id, pid, slots } }: EngineProcess): void {
    if (slots === 0) return;
    const begun = [...this.#history.runs.values()].filter(
      (run) => run.assignment !== null && run.engine === id && run.pid === pid && run.type === "Running",
    );
    if (begun.length > 1)
      throw new Violation("no run ends because of a neighbour", `${id} has ${begun.length} running runs and gets a signal`);
  }

  submitted(_id: number, { kind, target, body }: { kind: string; target: number; body: unknown }): void {
    if (kind === "TransitionRun" && /"type":"Crashed"/.test(String(body))) this.#askedToCrash.add(target);
  }

  operation(operation: Operation, history: History): void {
    const before = operation.name === "update_run" ? history.runs.get(operation.number("id")) : undefined;
    if (before === undefined || before.assignment === null || operation.number("assigned") === 1) return;
    const { id, engine, pid } = before;
    // An engine that reports a crash itself names its lease.
    if (this.#askedToCrash.has(id) || operation.details["lease"] !== undefined) return;
    if (!PROCESS_ENDED.test(String(operation.get("state_message")))) return;
    if (engine === null || pid === null || this.#newest.get(engine) !== pid || !this.#isAlive(pid)) return;
    throw new Violation("a run ends with its engine", `run ${id} has lost ${engine}, whose process ${pid} lives`);
  }
}
