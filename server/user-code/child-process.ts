/**
 * A user-code process, seen from the server. The process can end at any moment: every open call is then answered with the
 * cause. Each call has a time limit; a process whose event loop is blocked by user code is killed.
 */
import { type ChildProcess, fork } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { CallOutcome } from "#actors/user-code/user-code-calls";
import type { LoadedFile } from "#sdk/modules/loaded-file";
import type { ChildCall, FromChild, LoadedModule, ToChild } from "./messages.ts";
import { starvedMs } from "./starved-time.ts";

export interface ChildOptions {
  env: NodeJS.ProcessEnv;
  /** Node options of the server, so that a loader configured by the user also runs here. */
  execArgv: readonly string[];
  /** Heap of the process in MB, which bounds the memory of user code. */
  heapMb: number;
  /** A process that sends nothing for this long has its event loop blocked by user code. */
  blockedMs: number;
  /** Receives the output of user code after its modules are loaded. */
  print(text: string): void;
}

/** Characters of output during imports that are kept for error messages. */
const PRINTED_MAX = 4_000;
/** Interval of the checks whether a process with open calls still responds. */
const LOOK_MS = 500;
/** An import may take this many times its limit on a machine where the process hardly gets CPU time. */
const STARVED_FACTOR_MAX = 10;
/**
 * After the process has ended, its output is read to the end for this long; a child of the process may keep the pipe open for
 * ever.
 */
const DRAIN_MS = 500;
/** For the OOM killer: this process first, the server last (proc(5), oom_score_adj). */
const OOM_SCORE = "1000";

interface OpenCall {
  settle(outcome: CallOutcome): void;
  timer: NodeJS.Timeout;
}

export class UserCodeChild {
  readonly #process: ChildProcess;
  readonly #options: ChildOptions;
  readonly #open = new Map<number, OpenCall>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<string>();
  /** Imported files, by path. */
  readonly #files = new Map<string, LoadedFile>();
  #loading: ((loaded: LoadedModule | string) => void) | null = null;
  #printed = "";
  #serving = false;
  #cause: string | null = null;
  #nextCall = 1;
  #watch: NodeJS.Timeout | null = null;
  /** Checks since the process was pinged; null when it has answered. */
  #silentLooks: number | null = null;

  constructor(options: ChildOptions) {
    this.#options = options;
    // The child's entry has the same suffix as this file: TypeScript in a clone, JavaScript in the package.
    const entry = fileURLToPath(new URL(`./child/main${extname(import.meta.filename)}`, import.meta.url));
    this.#process = fork(entry, [], {
      env: options.env,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      serialization: "advanced",
      execArgv: [...options.execArgv, `--max-old-space-size=${options.heapMb}`],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    this.#process.on("message", (message) => this.#receive(message as FromChild));
    this.#process.on("error", (error) => this.#end(`it could not be started: ${error.message}`));
    this.#process.on("exit", (code, signal) => {
      const end = (): void => this.#end(this.#causeOf(code, signal), this.#importCauseOf(code, signal));
      const overdue = setTimeout(end, DRAIN_MS);
      this.#process.once("close", () => {
        clearTimeout(overdue);
        end();
      });
    });
    if (process.platform === "linux" && this.#process.pid !== undefined)
      writeFile(`/proc/${this.#process.pid}/oom_score_adj`, OOM_SCORE).catch(() => undefined);
  }

  /** Resolves with the cause when the process has ended. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The user's files as they were loaded, including files loaded by calls. */
  get files(): Iterable<LoadedFile> {
    return this.#files.values();
  }

  /** Output during the imports. */
  get printed(): string {
    return this.#printed.trim();
  }

  /**
   * Imports a module: returns its exports, or the reason why this process can no longer be used. The limit counts time in
   * which the process could run: time spent waiting for a processor is excluded, up to `STARVED_FACTOR_MAX` limits in total.
   */
  async load(sourceDir: string, module: string, limitMs: number): Promise<LoadedModule | string> {
    await Promise.race([this.#ready.promise, this.#ended.promise]);
    if (this.#cause !== null) return this.#cause;
    return await new Promise((resolve) => {
      const starvedBefore = starvedMs(this.pid);
      const periodMs = Math.min(LOOK_MS, limitMs);
      // Time is counted in checks, so that delays of this process do not count against the import.
      let tookMs = 0;
      const look = setInterval(() => {
        tookMs += periodMs;
        const ownMs = tookMs - (starvedMs(this.pid) - starvedBefore);
        if (ownMs < limitMs && tookMs < limitMs * STARVED_FACTOR_MAX) return;
        // An answer that has already arrived is read first.
        setImmediate(() => this.#loading?.(`importing it took longer than ${limitMs / 1000} s`));
      }, periodMs);
      this.#loading = (loaded) => {
        clearInterval(look);
        this.#loading = null;
        resolve(loaded);
      };
      this.#send({ kind: "Load", sourceDir, module });
    });
  }

  /** All modules are loaded: output is forwarded from now on. */
  serve(): void {
    this.#serving = true;
  }

  /** Calls user code. Aborting the signal gives the call up; its answer is then ignored. */
  call(call: ChildCall, limitMs: number, given?: AbortSignal): Promise<CallOutcome> {
    if (this.#cause !== null) return Promise.resolve({ type: "ended", cause: this.#cause });
    const id = this.#nextCall;
    this.#nextCall += 1;
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#send({ kind: "Abort", id });
        this.#ask();
        this.#settle(id, { type: "timed out" });
      };
      this.#open.set(id, {
        settle: (outcome) => {
          given?.removeEventListener("abort", giveUp);
          resolve(outcome);
        },
        timer: setTimeout(giveUp, limitMs),
      });
      given?.addEventListener("abort", giveUp, { once: true });
      this.#send({ kind: "Call", id, call });
      this.#watch ??= setInterval(() => this.#look(), LOOK_MS);
    });
  }

  /** Kills the process at once. */
  kill(cause?: string): void {
    if (cause !== undefined) this.#end(cause);
    this.#process.kill("SIGKILL");
  }

  /** Ends the process when its calls are answered; each call keeps its time limit. */
  retire(): void {
    if (this.#open.size === 0) this.kill("it was replaced");
    else void Promise.allSettled([...this.#open.values()].map((open) => this.#answered(open))).then(() => this.retire());
  }

  #answered(open: OpenCall): Promise<void> {
    return new Promise((resolve) => {
      const { settle } = open;
      open.settle = (outcome) => {
        settle(outcome);
        resolve();
      };
    });
  }

  #send(message: ToChild): void {
    // If the process has ended, its `close` event reports that with the exit code.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  #receive(message: FromChild): void {
    this.#silentLooks = null;
    if (message.kind === "Ready") this.#ready.resolve();
    else if (message.kind === "Imported") this.#files.set(message.file.path, message.file);
    else if (message.kind === "Loaded") this.#loading?.(message);
    else if (message.kind === "Answer") this.#settle(message.id, message.answer);
  }

  #take(text: string): void {
    this.#printed = (this.#printed + text).slice(-PRINTED_MAX);
    if (this.#serving) this.#options.print(text);
  }

  #settle(id: number, outcome: CallOutcome): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    clearTimeout(open.timer);
    open.settle(outcome);
  }

  #ask(): void {
    if (this.#silentLooks !== null) return;
    this.#silentLooks = 0;
    this.#send({ kind: "Ping" });
  }

  /** Continues until the process has answered, even after the last call was given up. */
  #look(): void {
    if (this.#silentLooks !== null) {
      this.#silentLooks += 1;
      const { blockedMs } = this.#options;
      if (this.#silentLooks * LOOK_MS >= blockedMs) this.kill(`user code did not let go of it for ${blockedMs / 1000} s`);
    } else if (this.#open.size > 0) this.#ask();
    else this.#endWatch();
  }

  #endWatch(): void {
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
  }

  #causeOf(code: number | null, signal: NodeJS.Signals | null): string {
    if (/heap out of memory/.test(this.#printed)) return `its heap of ${this.#options.heapMb} MB was full`;
    return signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`;
  }

  #importCauseOf(code: number | null, signal: NodeJS.Signals | null): string {
    if (signal !== null) return `its import was ended by ${signal}`;
    return `it ended the process with code ${code} while it was imported`;
  }

  #end(cause: string, importCause = cause): void {
    if (this.#cause !== null) return;
    this.#cause = cause;
    this.#endWatch();
    this.#loading?.(importCause);
    for (const id of [...this.#open.keys()]) this.#settle(id, { type: "ended", cause });
    this.#ended.resolve(cause);
  }
}
