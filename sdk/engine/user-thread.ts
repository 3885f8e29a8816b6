import { Worker } from "node:worker_threads";
import { type Remote, wrap } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import { describeFailure } from "../failure.ts";
import type { ReportItem } from "../report-item.ts";
import type { CodePlace, Ended, UserThreadApi, UserThreadData } from "./user-thread-api.ts";

/** The user thread as the control thread sees it. It can end at any moment. */
export class UserThread implements CodePlace {
  readonly api: Remote<UserThreadApi>;
  onItems: (items: ReportItem[]) => void = () => undefined;
  readonly #worker: Worker;
  /** Calls that wait for an answer; they are told when none can come any more. */
  readonly #waiting = new Set<(ended: Ended) => void>();
  #ended: Ended | null = null;

  constructor(data: UserThreadData, heapMb: number | null) {
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    this.#worker = new Worker(new URL(`./user-thread-main${extension}`, import.meta.url), {
      workerData: data,
      ...(heapMb === null ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMb } }),
    });
    this.api = wrap<UserThreadApi>(nodeEndpoint(this.#worker));
    this.#worker.on("message", (message: unknown) => {
      // Batches of items are arrays; everything else on this port is comlink's.
      if (Array.isArray(message)) this.onItems(message as ReportItem[]);
    });
    let cause: string | null = null;
    this.#worker.on("error", (error: unknown) => {
      cause = causeOf(error);
    });
    this.#worker.on("exit", (code) => {
      this.#ended = { kind: "ended", cause: cause ?? `process.exit(${code}) was called` };
      for (const tell of this.#waiting) tell(this.#ended);
      this.#waiting.clear();
    });
  }

  get alive(): boolean {
    return this.#ended === null;
  }

  answered<T>(call: Promise<T>): Promise<T | Ended> {
    if (this.#ended !== null) return Promise.resolve(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      call.then(resolve, reject).finally(() => this.#waiting.delete(resolve));
    });
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}

function causeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") return "out of memory";
  return `uncaught ${describeFailure(error).message}`;
}
