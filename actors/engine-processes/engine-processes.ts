/**
 * The engine processes: starts, watches and signals processes, on the main thread.
 *
 * Messages in: orders of the dispatcher. Messages out: engines that are gone, start times, changed modules. Only two kinds of
 * process are signalled: own children, and processes that were checked to be the claimed engine and are still the process
 * seen at the engine's first poll.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { processesOf } from "#system/run-processes";
import type { EngineKeyFields } from "../core/state/engine.ts";
import type { EngineGone, EngineSeen, ModuleChanged } from "../dispatcher/dispatcher-messages.ts";
import { DISPATCHER } from "../names.ts";
import { ClaimedProcesses } from "./claimed-process.ts";
import { matchesPattern } from "./command-pattern.ts";
import type { EngineProcessesMessage, PoolReport } from "./engine-process-messages.ts";
import { end, endGroup } from "./left-processes.ts";
import { countMemoryKills, type EndEvidence, gaveUp, type ProcessEnd, processEnd, takeFatalError } from "./process-end.ts";
import { isSameProcess, readProcess, userOf } from "./process-table.ts";

/** Interval of the checks of processes. */
const LOOK_US = 500_000;
/** Maximum of external processes checked per pass; more are checked in turns. */
const LOOKED_AT_MAX = 500;

export interface EngineProcessesOptions {
  /** Program and leading arguments of the bundled engine. */
  command: readonly string[];
  /** Commands for modules in other languages; the first matching pattern applies. */
  commands: readonly { pattern: string; command: readonly string[] }[];
  environment: Record<string, string>;
  /** The server stops, and this many runs continue in their engines. */
  staying(runs: number): void;
  /** Reports a problem with processes. */
  complain(text: string): void;
  /** Folder for reports of processes whose Node aborted; null when no command writes reports. */
  reportFolder: string | null;
}

interface Watched {
  pid: number;
  started: number | null;
  /** Whether the process is the engine: checked at its first poll, when its connection certainly exists. */
  isEngine: Promise<boolean>;
}

interface Child {
  process: ChildProcess;
  key: EngineKeyFields;
}

interface WatchedModule {
  /** Of the map of modules; never parsed. */
  key: string;
  source_dir: string;
  module: string;
  /** Modification time of the module's file, milliseconds; 0 without a file. */
  ms: number;
  engines: Set<string>;
}

export class EngineProcesses implements Actor<EngineProcessesMessage> {
  readonly #options: EngineProcessesOptions;
  readonly #nowUs: () => number;
  readonly #send: (to: string, message: unknown) => void;
  readonly #watched = new Map<string, Watched>();
  readonly #children = new Map<string, Child>();
  readonly #claimed = new ClaimedProcesses();
  /** Modules of living engines, and the module of each engine. */
  readonly #modules = new Map<string, WatchedModule>();
  readonly #moduleOf = new Map<string, WatchedModule>();
  /** Id of the engine started last. */
  #newest: string | null = null;
  #lookFrom = 0;
  /** Memory kills at the last check: if the count has risen when an engine ends, the engine may be among those killed. */
  #memoryKills = countMemoryKills();

  constructor(options: EngineProcessesOptions, nowUs: () => number, send: (to: string, message: unknown) => void) {
    this.#options = options;
    this.#nowUs = nowUs;
    this.#send = send;
  }

  begin(out: Outbox): void {
    out.setTimer("look", this.#nowUs() + LOOK_US, { kind: "Look" });
  }

  receive(message: EngineProcessesMessage, out: Outbox): void {
    switch (message.kind) {
      case "Watch":
        this.#rememberModule(message.engine_id, message.source_dir, message.module);
        return this.#watch(message, out);
      case "Unwatch":
        this.#watched.delete(message.engine_id);
        if (!this.#children.has(message.engine_id)) this.#forgetModule(message.engine_id);
        return;
      case "Spawn":
        return this.#spawn(message.engine_id, message.key);
      case "Signal":
        return this.#signal(message.engine_id, message.pid, message.signal);
      case "EndProcesses":
        return this.#attempt(end((all) => processesOf(message.run, all)));
      case "Staying":
        return this.#options.staying(message.runs);
      case "StartFailed": {
        const command = this.#commandFor(message.module).join(" ");
        const text = `an engine for ${message.module} ended before it asked for work, so its runs wait: ${message.cause}`;
        return this.#options.complain(`${text} (command: ${command})`);
      }
      case "Resync":
        return out.send(DISPATCHER, this.#report(message.epoch));
      case "Look":
        this.#look(out);
        return out.setTimer("look", this.#nowUs() + LOOK_US, { kind: "Look" });
    }
  }

  /**
   * Idle engines leave with the server; busy engines stay, for the next server to adopt. An engine that has not asked for work
   * yet holds no run and would find no server: it is killed, and has ended when the stop resolves.
   */
  async stop(failed: boolean): Promise<void> {
    const ending: Promise<void>[] = [];
    for (const [engineId, { process: child }] of this.#children) {
      if (failed || this.#watched.has(engineId)) child.unref();
      else ending.push(killed(child));
    }
    await Promise.all(ending);
  }

  #watch({ engine_id, pid, pid_started }: EngineProcessesMessage & { kind: "Watch" }, out: Outbox): void {
    const started = pid_started ?? readProcess(pid).started;
    const isEngine = this.#children.has(engine_id) ? Promise.resolve(true) : this.#claimed.isEngine(pid, engine_id);
    this.#watched.set(engine_id, { pid, started, isEngine });
    out.send(DISPATCHER, { kind: "EngineSeen", engine_id, pid_started: started } satisfies EngineSeen);
  }

  #spawn(engineId: string, key: EngineKeyFields): void {
    const [program, ...leading] = this.#commandFor(key.module);
    const args = [...leading, "--engine-id", engineId, "--source-dir", key.source_dir, "--module", key.module];
    if (key.isolated) args.push("--once");
    // The engine lowers its own priority. A nice value set here as well would add up in engines that lower it relatively.
    if (key.nice > 0) args.push("--nice", String(key.nice));
    const environment = { ...process.env, ...this.#options.environment, MILLRACE_ENGINE_ID: engineId };
    // A separate process group, so that a Ctrl-C for the server does not end runs.
    const child = spawn(program ?? "", args, { stdio: ["ignore", "inherit", "inherit"], env: environment, detached: true });
    this.#children.set(engineId, { process: child, key });
    this.#newest = engineId;
    this.#rememberModule(engineId, key.source_dir, key.module);
    child.once("error", ({ message }) =>
      this.#gone(engineId, { cause: `the engine could not be started: ${message}`, details: {} }),
    );
    child.once("exit", (code, signal) => {
      // An engine that ends normally has cleaned up after its runs itself.
      if (code !== 0 && child.pid !== undefined) this.#attempt(endGroup(child.pid));
      this.#gone(engineId, processEnd(code, signal, this.#evidence(child.pid)));
    });
  }

  #attempt(ending: Promise<void>): void {
    ending.catch((error: unknown) => this.#options.complain(`processes that an engine left are not ended: ${String(error)}`));
  }

  #commandFor(module: string): readonly string[] {
    return this.#options.commands.find(({ pattern }) => matchesPattern(pattern, module))?.command ?? this.#options.command;
  }

  #evidence(pid = 0): EndEvidence {
    const kills = countMemoryKills();
    const memoryKill = kills === null || this.#memoryKills === null ? null : kills > this.#memoryKills;
    return { memoryKill, fatalError: this.#fatalError(pid) };
  }

  #fatalError(pid: number): string | null {
    const { reportFolder } = this.#options;
    return reportFolder === null ? null : takeFatalError(reportFolder, pid);
  }

  #gone(engineId: string, { cause, details }: ProcessEnd): void {
    if (!this.#children.delete(engineId) && !this.#watched.has(engineId)) return;
    this.#watched.delete(engineId);
    this.#forgetModule(engineId);
    this.#send(DISPATCHER, { kind: "EngineGone", engine_id: engineId, cause, details } satisfies EngineGone);
  }

  #signal(engineId: string, pid: number, signal: "SIGTERM" | "SIGKILL"): void {
    const child = this.#children.get(engineId);
    if (child !== undefined) {
      child.process.kill(signal);
      return;
    }
    const seen = this.#watched.get(engineId);
    if (pid <= 1 || pid === process.pid || seen?.pid !== pid) return;
    this.#signalOther(engineId, seen, signal).catch((error: unknown) =>
      this.#options.complain(`the process of engine ${engineId} was not signalled: ${String(error)}`),
    );
  }

  /** Signals an external engine. */
  async #signalOther(engineId: string, { pid, started, isEngine }: Watched, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    if (!(await isEngine) && !(await this.#claimed.isEngine(pid, engineId))) {
      const text = `engine ${engineId} says that it is process ${pid}, but nothing else does: that process gets no ${signal}`;
      return this.#options.complain(text);
    }
    if (!isSameProcess(pid, started)) return;
    const owner = userOf(pid);
    if (owner !== null && owner !== process.getuid?.()) return;
    try {
      process.kill(pid, signal);
    } catch {
      // The process ended in between; the next check reports that.
    }
  }

  #report(epoch: number): PoolReport {
    const engines = [...this.#children].map(([engine_id, { key }]) => ({ engine_id, key }));
    return { kind: "PoolReport", epoch, engines, newest: this.#newest };
  }

  /** Children report their own end; external processes are checked, a share of them per pass. */
  #look(out: Outbox): void {
    this.#memoryKills = countMemoryKills();
    const others = [...this.#watched].filter(([id]) => !this.#children.has(id));
    const from = this.#lookFrom < others.length ? this.#lookFrom : 0;
    this.#lookFrom = from + LOOKED_AT_MAX;
    for (const [engineId, { pid, started }] of others.slice(from, from + LOOKED_AT_MAX)) {
      if (isSameProcess(pid, started)) continue;
      this.#watched.delete(engineId);
      this.#forgetModule(engineId);
      const fatalError = this.#fatalError(pid);
      const end = fatalError === null ? { cause: null } : gaveUp(fatalError);
      out.send(DISPATCHER, { kind: "EngineGone", engine_id: engineId, pid, ...end } satisfies EngineGone);
    }
    this.#lookAtModules(out);
  }

  #rememberModule(engineId: string, source_dir: string, module: string): void {
    // With the length of one name, no two pairs of names have the same key.
    const key = `${source_dir.length} ${source_dir} ${module}`;
    let watched = this.#modules.get(key);
    if (watched === undefined) {
      watched = { key, source_dir, module, ms: modifiedMs(source_dir, module), engines: new Set() };
      this.#modules.set(key, watched);
    }
    watched.engines.add(engineId);
    this.#moduleOf.set(engineId, watched);
  }

  #forgetModule(engineId: string): void {
    const watched = this.#moduleOf.get(engineId);
    this.#moduleOf.delete(engineId);
    if (watched?.engines.delete(engineId) === true && watched.engines.size === 0) this.#modules.delete(watched.key);
  }

  #lookAtModules(out: Outbox): void {
    for (const known of this.#modules.values()) {
      const { source_dir, module } = known;
      const ms = modifiedMs(source_dir, module);
      if (ms === known.ms) continue;
      known.ms = ms;
      out.send(DISPATCHER, { kind: "ModuleChanged", source_dir, module } satisfies ModuleChanged);
    }
  }
}

/** Resolves when the process has ended; a process that could not be started has. */
function killed(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.ref();
  child.kill("SIGKILL");
  return ended;
}

/** 0 without a file. A module is a file name, or a Python name: `etl.daily` is etl/daily.py or etl/daily/__init__.py. */
function modifiedMs(sourceDir: string, module: string): number {
  const dotted = module.replaceAll(".", "/");
  for (const path of [module, `${dotted}.py`, `${dotted}/__init__.py`]) {
    const file = statSync(join(sourceDir, path), { throwIfNoEntry: false });
    if (file?.isFile() === true) return file.mtimeMs;
  }
  return 0;
}
