/** The user thread as the control thread sees it. */
import { Worker } from "node:worker_threads";
import { type Remote, wrap } from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";
import type { ReportItem } from "../execution/report-item.ts";
import { isChanged, type LoadedFile } from "../modules/loaded-file.ts";
import { endedByError } from "./thread-end.ts";
import type { CodePlace, Ended, ImportedFile, UserThreadApi, UserThreadData } from "./user-thread-api.ts";

/** The control thread's handle of the user thread, which can end at any moment. */
export class UserThread implements CodePlace {
  readonly api: Remote<UserThreadApi>;
  onItems: (items: ReportItem[]) => void = () => undefined;
  readonly #worker: Worker;
  readonly #files: LoadedFile[] = [];
  /** Calls that wait for an answer; each is settled with the cause when the thread ends. */
  readonly #waiting = new Set<(ended: Ended) => void>();
  #ended: Ended | null = null;

  constructor(data: UserThreadData, heapMb: number | null) {
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    this.#worker = new Worker(new URL(`./user-thread-main${extension}`, import.meta.url), {
      workerData: data,
      ...(heapMb === null ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMb } }),
    });
    this.api = wrap<UserThreadApi>(nodeEndpoint(this.#worker));
    let ended: Ended | null = null;
    this.#worker.on("message", (message: ReportItem[] | ImportedFile | Ended | object) => {
      // Batches of items are arrays, and the last message holds the cause of the end; everything else on this port is
      // comlink's.
      if (Array.isArray(message)) this.onItems(message);
      else if ("imported" in message) this.#files.push(message.imported);
      else if (isEnded(message)) ended = message;
    });
    this.#worker.on("error", (error: unknown) => {
      ended ??= endedBy(error);
    });
    this.#worker.on("exit", (code) => {
      this.#ended = ended ?? { kind: "ended", cause: `the thread of the flow ended with code ${code}`, details: {} };
      for (const tell of this.#waiting) tell(this.#ended);
      this.#waiting.clear();
    });
  }

  get alive(): boolean {
    return this.#ended === null;
  }

  /** Whether a file loaded here has changed since. Costs two microseconds per file. */
  isOutdated(): boolean {
    return this.#files.some(isChanged);
  }

  /** Whether a file loaded here was changed a moment before or is missing, so that the change may not be complete. */
  isFresh(): boolean {
    return this.#files.some(({ settled, target }) => !settled || target === "");
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

function isEnded(message: unknown): message is Ended {
  return typeof message === "object" && message !== null && "kind" in message && message.kind === "ended";
}

/** Ends that the thread could not report itself: a full heap, or a failed start. */
function endedBy(error: unknown): Ended {
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
    const cause = `out of memory: the JavaScript heap of the flow is full (${HEAP_ADVICE})`;
    return { kind: "ended", cause, details: { out_of_memory: true } };
  }
  return endedByError(error, "uncaught");
}

const HEAP_ADVICE = "NODE_OPTIONS=--max-old-space-size=MB for the server sets its size";
