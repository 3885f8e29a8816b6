import { UserThread } from "./user-thread.ts";
import type { CodeKeeper, FlowFacts, LoadAnswer, UserThreadData } from "./user-thread-api.ts";

/** Keeps one user thread with the module imported, and replaces it when it had to be stopped. */
export class ThreadKeeper implements CodeKeeper {
  readonly #data: UserThreadData;
  readonly #heapMb: number | null;
  #thread: UserThread;
  #flows: FlowFacts[] = [];
  importError: string | null = null;

  constructor(data: UserThreadData, heapMb: number | null) {
    this.#data = data;
    this.#heapMb = heapMb;
    this.#thread = new UserThread(data, heapMb);
  }

  get thread(): UserThread {
    return this.#thread;
  }

  /** Imports the module; null when that worked, else the traceback. */
  async load(): Promise<string | null> {
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
    await this.#thread.terminate();
    this.#flows = [];
    this.#thread = new UserThread(this.#data, this.#heapMb);
    return await this.load();
  }

  find(project: string, name: string): FlowFacts | undefined {
    const named = this.#flows.filter((flow) => flow.name === name);
    return named.find((flow) => flow.project === project) ?? named[0];
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
