/**
 * Runs the supervision tree, on the main thread. Decides with restart.ts, and starts and stops actors on their threads
 * through a control interface. Exits below one supervisor are handled in sequence. Exits below different supervisors, and of
 * different children of a one_for_one supervisor, are handled in parallel, because one group may need another group to start.
 * Children start in order and stop in reverse.
 */
import type { Clock } from "./clock.ts";
import { decideRestart, type RestartPolicy, type RestartType } from "./restart.ts";

export interface WorkerChild {
  kind: "worker";
  name: string;
  restart: RestartType;
  /** How long an orderly stop may take. */
  shutdownMs: number;
}

export interface SupervisorChild extends RestartPolicy {
  kind: "supervisor";
  name: string;
  children: readonly Child[];
}

export type Child = WorkerChild | SupervisorChild;

/** Starts and stops actors on the threads where they are placed. */
export interface Control {
  start(name: string): Promise<void>;
  stop(name: string, shutdownMs: number): Promise<void>;
  sleep(delayMs: number): Promise<void>;
}

/**
 * How long an orderly stop waits for restarts in progress: a restart that never completes must not keep the server from
 * stopping.
 */
const RESTART_WAIT_MS = 5000;

export interface SupervisorEvents {
  restarted(names: string[], error: Error): void;
  /** The root gave up: the process should end with a failure. */
  gaveUp(error: Error): void;
}

export class Supervisor {
  readonly #root: SupervisorChild;
  readonly #control: Control;
  readonly #clock: Clock;
  readonly #events: SupervisorEvents;
  readonly #parents = new Map<string, SupervisorChild>();
  readonly #nodes = new Map<string, Child>();
  readonly #restartsUs = new Map<string, number[]>();
  /** Starts of each worker, to recognise a report about an earlier life. */
  readonly #lives = new Map<string, number>();
  /** The restarts in progress, by the supervisor, or by the child of a one_for_one supervisor. */
  readonly #queues = new Map<string, Promise<void>>();
  #stopping = false;

  constructor(root: SupervisorChild, control: Control, clock: Clock, events: SupervisorEvents) {
    this.#root = root;
    this.#control = control;
    this.#clock = clock;
    this.#events = events;
    this.#index(root);
  }

  /** Starts every worker in order; on a failure stops the started workers and rethrows. */
  async start(): Promise<void> {
    const started: string[] = [];
    for (const worker of workersOf(this.#root)) {
      try {
        await this.#startWorker(worker.name);
      } catch (cause) {
        for (const name of started.reverse()) await this.#control.stop(name, 1000).catch(() => undefined);
        throw cause;
      }
      started.push(worker.name);
    }
  }

  /** Stops every worker in reverse order. Later exits are expected and ignored. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.race([Promise.all(this.#queues.values()), this.#control.sleep(RESTART_WAIT_MS)]);
    for (const worker of workersOf(this.#root).reverse()) await this.#control.stop(worker.name, worker.shutdownMs);
  }

  /** A worker ended, or has to be restarted (`counted` false: no defect). Resolves when the exit has been handled. */
  exited(name: string, error: Error, counted = true): Promise<void> {
    const life = this.#lives.get(name);
    // Its thread ended before the start of the tree came to this worker: a restart would start the worker a second time.
    if (life === undefined && this.#nodes.has(name)) return Promise.resolve();
    return this.#inTurn(name, [], async (held) => {
      if (this.#lives.get(name) === life) await this.#handle(name, error, counted, held);
    });
  }

  /**
   * Handles an exit of a child after earlier exits that may restart the same children. `held`: the queues whose turn this is
   * already, because a start failed within a restart; a turn would wait for itself.
   */
  #inTurn(child: string, held: readonly string[], handle: (held: readonly string[]) => Promise<void>): Promise<void> {
    const parent = this.#parents.get(child);
    const queue = parent?.strategy === "one_for_one" ? `${parent.name}/${child}` : (parent?.name ?? "");
    if (held.includes(queue)) return handle(held);
    const handled = (this.#queues.get(queue) ?? Promise.resolve()).then(() => handle([...held, queue]));
    this.#queues.set(queue, handled);
    return handled;
  }

  async #startWorker(name: string): Promise<void> {
    this.#lives.set(name, (this.#lives.get(name) ?? 0) + 1);
    await this.#control.start(name);
  }

  async #handle(name: string, error: Error, counted: boolean, held: readonly string[]): Promise<void> {
    if (this.#stopping) return;
    const parent = this.#parents.get(name);
    const node = this.#nodes.get(name);
    if (parent === undefined || node === undefined) return this.#events.gaveUp(error);
    const restart = node.kind === "worker" ? node.restart : "permanent";
    const names = parent.children.map((child) => child.name);
    const history = counted ? (this.#restartsUs.get(parent.name) ?? []) : [];
    const decision = decideRestart(parent, names, { name, restart, failed: true }, history, this.#clock.monotonicUs());
    if (decision.kind === "Ignore") return;
    if (decision.kind === "GiveUp") {
      if (parent === this.#root) return this.#events.gaveUp(error);
      return this.#inTurn(parent.name, held, (all) => this.#handle(parent.name, error, true, all));
    }
    if (counted) this.#restartsUs.set(parent.name, decision.restartsUs);
    await this.#restart(decision.children, decision.delayMs, error, held);
  }

  async #restart(names: readonly string[], delayMs: number, error: Error, held: readonly string[]): Promise<void> {
    const workers = names.flatMap((name) => {
      const node = this.#nodes.get(name);
      if (node === undefined) return [];
      this.#forgetRestarts(node);
      return workersOf(node);
    });
    // A child that fails to stop is restarted all the same.
    for (const worker of [...workers].reverse()) await this.#control.stop(worker.name, worker.shutdownMs).catch(() => undefined);
    if (delayMs > 0) await this.#control.sleep(delayMs);
    for (const worker of workers) {
      if (this.#stopping) return;
      try {
        await this.#startWorker(worker.name);
      } catch (cause) {
        return this.#handle(worker.name, cause instanceof Error ? cause : new Error(String(cause)), true, held);
      }
    }
    this.#events.restarted(
      workers.map((worker) => worker.name),
      error,
    );
  }

  /** A restarted supervisor counts its restarts from zero. */
  #forgetRestarts(node: Child): void {
    if (node.kind === "worker") return;
    this.#restartsUs.delete(node.name);
    for (const child of node.children) this.#forgetRestarts(child);
  }

  #index(node: SupervisorChild): void {
    this.#nodes.set(node.name, node);
    for (const child of node.children) {
      this.#parents.set(child.name, node);
      this.#nodes.set(child.name, child);
      if (child.kind === "supervisor") this.#index(child);
    }
  }
}

/** The workers below a node, in start order. */
export function workersOf(node: Child): WorkerChild[] {
  return node.kind === "worker" ? [node] : node.children.flatMap(workersOf);
}
