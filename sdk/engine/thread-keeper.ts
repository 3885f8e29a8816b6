import { setTimeout as sleep } from "node:timers/promises";
import { Gauges } from "../gauges.ts";
import { UserThread } from "./user-thread.ts";
import type { CodeKeeper, FlowFacts, LoadAnswer, UserThreadData } from "./user-thread-api.ts";

/** An editor that writes a file in two steps is done with it after this. */
const SAVE_MS = 100;
/** Files that change during every import are a defect of the code; a run does not wait for them for ever. */
const REFRESHES_MAX = 5;

/** Keeps one user thread with the module imported, and replaces it when it had to be stopped. */
export class ThreadKeeper implements CodeKeeper {
  readonly gauges = new Gauges();
  readonly #data: UserThreadData;
  readonly #heapMb: number | null;
  #thread: UserThread;
  #flows: FlowFacts[] = [];
  importError: string | null = null;
  #closed = false;

  constructor(data: Omit<UserThreadData, "gauges">, heapMb: number | null) {
    this.#data = { ...data, gauges: this.gauges.memory };
    this.#heapMb = heapMb;
    this.#thread = new UserThread(this.#data, heapMb);
  }

  get thread(): UserThread {
    return this.#thread;
  }

  /** Imports the module; null when that worked, else the traceback. What may be half of a save is imported once more. */
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

  /** Ends the thread and starts another one; the answer is that of load(). */
  async replace(): Promise<string | null> {
    await this.#startThread();
    return await this.load();
  }

  /**
   * Before each run: replaces the thread where its code is not what the files hold now, or could not be imported. Asking the files
   * is the only way that is never late: a message of the system about a change may be still on its way.
   */
  async refresh(): Promise<void> {
    if (!this.#thread.alive || this.importError !== null) await this.replace();
    for (let tries = 0; tries < REFRESHES_MAX && this.#thread.isOutdated(); tries += 1) await this.replace();
  }

  async #startThread(): Promise<void> {
    await this.#thread.terminate();
    this.#flows = [];
    this.#thread = new UserThread(this.#data, this.#heapMb);
  }

  find(project: string, name: string): FlowFacts | undefined {
    const named = this.#flows.filter((flow) => flow.name === name);
    return named.find((flow) => flow.project === project) ?? named[0];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread.terminate();
  }
}
