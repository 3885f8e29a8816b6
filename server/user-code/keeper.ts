/**
 * Manages the user-code process of the served directory: starts it with the modules to be called, restarts it when it ends,
 * and replaces it when files have changed.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { CallOutcome } from "#actors/user-code/user-code-calls";
import type { LoadedFile } from "#sdk/modules/loaded-file";
import {
  type Discovered,
  type Discovery,
  discover,
  type FlowRegistration,
  findModules,
  startWith,
} from "../discovery/discovery.ts";
import { type ChildOptions, UserCodeChild } from "./child-process.ts";
import { watchLoaded, watchPlaces } from "./file-watch.ts";
import type { ChildCall } from "./messages.ts";

export interface KeeperOptions extends ChildOptions {
  /** Absolute path of the served directory. */
  dir: string;
  /** Receives one line about an event of the process. */
  complain(line: string): void;
}

/** A discovery, and what was reloaded with changed content. */
export interface KeptDiscovery extends Discovery {
  reloaded: {
    /** Absolute paths. */
    files: string[];
    /** Flows whose module is, or imports, one of these files. */
    flows: Pick<FlowRegistration, "project" | "flow">[];
  };
}

/** Delays before the restart of a process that has ended this many times in a row; the last delay applies from then on. */
const RESTART_WAITS_MS = [0, 100, 200, 500, 1_000, 2_000, 5_000, 10_000] as const;
/** A process that lives this long resets the count. */
const STEADY_MS = 30_000;

export class UserCodeKeeper {
  readonly #options: KeeperOptions;
  /** The process that takes calls, once started; null when there is nothing to call. */
  #ready: Promise<UserCodeChild | null> = Promise.resolve(null);
  #called: readonly string[] = [];
  #modules: readonly string[] = [];
  #loaded: ReadonlyMap<string, LoadedFile> = new Map();
  /** Watches of the loaded files, and of places where modules may appear. */
  #files = watchLoaded(this.#loaded);
  #places = watchPlaces([]);
  #changed = false;
  #busy = false;
  #discoveries = 0;
  #endsInARow = 0;
  readonly #stopped = new AbortController();
  /** Processes that have not ended. */
  readonly #children = new Set<UserCodeChild>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  get dir(): string {
    return this.#options.dir;
  }

  /** Searches the directory and starts a process with what was found; the former process ends when its calls are answered. */
  async discover(): Promise<KeptDiscovery> {
    this.#busy = true;
    this.#discoveries += 1;
    const discovering = discover(this.#options.dir, () => this.#start(), undefined, this.#stopped.signal);
    // After the first discovery, calls go to the former process until the new one is ready.
    if (this.#discoveries === 1)
      this.#ready = discovering.then(
        ({ child }) => child,
        () => null,
      );
    try {
      const found = await discovering;
      const reloaded = reloadedBy(found, this.#loaded);
      this.#replace(found);
      return { ...found.discovery, reloaded };
    } finally {
      this.#busy = false;
    }
  }

  /**
   * Calls user code. Waits for a process that is being started until the signal is aborted, or without limit if there is no
   * signal.
   */
  async call(call: ChildCall, limitMs: number, signal?: AbortSignal): Promise<CallOutcome> {
    const child = await (signal === undefined ? this.#ready : untilAborted(this.#ready, signal));
    if (child === "aborted") return { type: "timed out" };
    if (child === null) return { type: "failed", error: `module ${call.module} is not served, or cannot be imported` };
    return await child.call(call, limitMs, signal);
  }

  /** Checks the files. True when they have changed and then stayed unchanged for one check: time to discover. */
  async look(): Promise<boolean> {
    if (this.#busy || this.#stopped.signal.aborted) return false;
    this.#busy = true;
    const changed = this.#files.look().length > 0 || (this.#places.look().length > 0 && (await this.#hasOtherModules()));
    const due = this.#changed && !changed;
    this.#changed = changed;
    this.#busy = false;
    return due;
  }

  /** Ends all processes, including those of a discovery in progress. */
  stop(): void {
    this.#stopped.abort();
    for (const child of this.#children) child.kill("the server is stopping");
  }

  /** A folder's times also change when unrelated files are written there, so compare the modules. */
  async #hasOtherModules(): Promise<boolean> {
    try {
      const { modules } = await findModules(this.#options.dir);
      return String(modules) !== String(this.#modules);
    } catch {
      // The directory is unreadable or gone; the next discovery reports that.
      return true;
    }
  }

  #start(): UserCodeChild {
    const child = new UserCodeChild(this.#options);
    this.#children.add(child);
    void child.ended.then(() => this.#children.delete(child));
    if (this.#stopped.signal.aborted) child.kill("the server is stopping");
    return child;
  }

  #replace({ child, called, modules, files, places }: Discovered): void {
    const former = this.#ready;
    this.#called = called;
    this.#modules = modules;
    this.#loaded = files;
    this.#files = watchLoaded(files);
    this.#places = watchPlaces(places);
    this.#ready = Promise.resolve(child);
    if (child !== null) this.#follow(child, this.#ready);
    void former.then((old) => {
      if (old !== child) old?.retire();
    });
  }

  /** Puts a process into service; if it ends while still in service, a new process replaces it. */
  #follow(child: UserCodeChild, ready: Promise<unknown>): void {
    child.serve();
    const steady = setTimeout(() => {
      this.#endsInARow = 0;
    }, STEADY_MS);
    void child.ended.then((cause) => {
      clearTimeout(steady);
      if (this.#ready !== ready || this.#stopped.signal.aborted) return;
      this.#options.complain(`the process of user code is started again: ${cause}`);
      this.#restart();
    });
  }

  #restart(): void {
    const waitMs = RESTART_WAITS_MS[Math.min(this.#endsInARow, RESTART_WAITS_MS.length - 1)];
    this.#endsInARow += 1;
    const ready = this.#startAgain(waitMs);
    this.#ready = ready;
    void ready.then((child) => {
      // A discovery may have replaced this process in the meantime, and then ends it.
      if (child !== null && this.#ready === ready) this.#follow(child, ready);
    });
  }

  async #startAgain(waitMs = 0): Promise<UserCodeChild | null> {
    await pause(waitMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    if (this.#stopped.signal.aborted) return null;
    return await startWith(() => this.#start(), this.#options.dir, this.#called);
  }
}

function reloadedBy(
  { discovery, files, filesOf }: Discovered,
  former: ReadonlyMap<string, LoadedFile>,
): KeptDiscovery["reloaded"] {
  const used = new Set([...filesOf.values()].flat());
  const changed = [...files.values()].filter(({ path, target, content }) => {
    const before = former.get(path);
    return used.has(path) && before !== undefined && (before.target !== target || before.content !== content);
  });
  const paths = new Set(changed.map(({ path }) => path));
  const flows = discovery.flows.filter(({ module }) => filesOf.get(module)?.some((path) => paths.has(path)) === true);
  return { files: [...paths], flows: flows.map(({ project, flow }) => ({ project, flow })) };
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | "aborted"> {
  if (signal.aborted) return Promise.resolve("aborted");
  const aborted = Promise.withResolvers<"aborted">();
  const onAbort = (): void => aborted.resolve("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener("abort", onAbort));
}
