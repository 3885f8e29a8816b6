/** Keeps the user thread in step with the files of its module. */
import { setTimeout as sleep } from "node:timers/promises";
import { Gauges } from "../execution/gauges.ts";
import { UserThread } from "./user-thread.ts";
import type { CodeKeeper, FlowFacts, LoadAnswer, UserThreadData } from "./user-thread-api.ts";

/** After this time an editor that writes a file in two steps has finished. */
const SAVE_MS = 100;
/** Files that change during every import are a defect of the code; a run waits for them only this often. */
const REFRESHES_MAX = 5;

/** Keeps one user thread with the module imported, and replaces the thread after it was ended. */
export class ThreadKeeper implements CodeKeeper {
  readonly gauges = new Gauges();
  readonly #data: UserThreadData;
  readonly #heapMb: number | null;
  #thread: UserThread;
  #flows: FlowFacts[] = [];
  importError: string | null = null;
  #closed = false;
  #replacing: Promise<unknown> | null = null;
  /** The first run whose code goes on after its end. */
  #retired: { run: number; sinceMs: number } | null = null;

  constructor(data: Omit<UserThreadData, "gauges">, heapMb: number | null) {
    this.#data = { ...data, gauges: this.gauges.memory };
    this.#heapMb = heapMb;
    this.#thread = new UserThread(this.#data, heapMb);
  }

  get thread(): UserThread {
    return this.#thread;
  }

  /** Imports the module; null on success, else the traceback. If the files may be only half saved, the import is repeated. */
  async load(): Promise<string | null> {
    await this.#import();
    if (this.#flows.length > 0 || this.#closed || !this.#thread.isFresh()) return this.importError;
    await sleep(SAVE_MS);
    if (this.#closed || !this.#thread.isOutdated()) return this.importError;
    await this.#startThread();
    return await this.#import();
  }

  async #import(): Promise<string | null> {
    const answer = await this.#thread.answered<LoadAnswer>(this.#thread.api.load());
    if ("kind" in answer) this.importError = `${answer.cause} while ${this.#data.module} was imported`;
    else if ("error" in answer) this.importError = answer.traceback;
    else {
      this.importError = null;
      this.#flows = answer.flows;
    }
    return this.importError;
  }

  /** The thread, once its module is imported. A thread that has ended is replaced; one that is over is not. */
  async ready(): Promise<UserThread> {
    if (this.#thread.alive) await this.#replacing;
    else await this.#replace();
    return this.#thread;
  }

  retire(run: number): void {
    this.#retired ??= { run, sinceMs: performance.now() };
    this.#thread.lingers = true;
  }

  /** Whether code of an ended run goes on in the thread, which therefore takes no further run. */
  get isRetired(): boolean {
    return this.#retired !== null;
  }

  /**
   * Whether the thread is to be replaced before further runs: code of an ended run goes on in it, its module could not be
   * imported, or a file has changed. Checking the files is the only method that is never late: a change notification of the
   * system may still be on its way.
   */
  get isOver(): boolean {
    return this.#retired !== null || this.importError !== null || this.#thread.isOutdated();
  }

  /** Replaces a thread that is over or has ended. No run uses it. */
  async refresh(): Promise<void> {
    if (!this.#thread.alive || this.isOver) await this.#replace();
    for (let tries = 1; tries < REFRESHES_MAX && this.#thread.isOutdated(); tries += 1) await this.#replace();
  }

  /** Ends a thread whose lingering code has had this long for the other runs to end. */
  async endRetired(afterMs: number): Promise<void> {
    if (this.#retired === null || performance.now() - this.#retired.sinceMs < afterMs) return;
    await this.#thread.terminate(this.#retired.run);
  }

  /** Ends the thread and starts another. Whoever asks for it while it is under way waits for the same thread. */
  #replace(): Promise<unknown> {
    this.#replacing ??= this.#startThread()
      .then(() => this.load())
      .finally(() => {
        this.#replacing = null;
      });
    return this.#replacing;
  }

  async #startThread(): Promise<void> {
    await this.#thread.terminate(null);
    this.#flows = [];
    this.#retired = null;
    this.#thread = new UserThread(this.#data, this.#heapMb);
    // The process is about to end.
    if (this.#closed) await this.#thread.terminate(null);
  }

  find(project: string, name: string): FlowFacts | undefined {
    const named = this.#flows.filter((flow) => flow.name === name);
    return named.find((flow) => flow.project === project) ?? named[0];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread.terminate(null);
  }
}
