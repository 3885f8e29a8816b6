/** Ends the child processes of a run. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  CHILD_GRACE_MS,
  listProcesses,
  namesOf,
  processesOf,
  type SystemProcess,
  signalAll,
  unmarkedBelow,
} from "#system/run-processes";
import type { Gauges } from "../execution/gauges.ts";

/** How often the remaining processes are listed. */
const LOOK_MS = 50;

/** How long to wait for killed processes: the system may need time for them. */
const KILLED_MS = 1_000;

const WARNING = 30;
const INFO = 20;

/** The child processes of one run, which end with it. */
export class RunChildren {
  readonly #run: string;
  readonly #gauges: Gauges;
  readonly #tell: (level: number, message: string) => void;
  /** Children that runs of this engine had started before. */
  readonly #before: number;
  #stopped = false;

  constructor(externalId: string, gauges: Gauges, tell: (level: number, message: string) => void) {
    this.#run = externalId;
    this.#gauges = gauges;
    this.#tell = tell;
    this.#before = gauges.children;
  }

  /** The run is stopped: its children are signalled to end while its code is ending too. */
  async stop(): Promise<void> {
    if (this.#stopped || !this.#any) return;
    this.#stopped = true;
    const all = await this.#list();
    signalAll(processesOf(this.#run, all), "SIGTERM");
    const unknown = unmarkedBelow(process.pid, all);
    if (unknown.length === 0) return;
    this.#tell(
      WARNING,
      `processes of the engine that cannot be told to be this run's go on: ${namesOf(unknown)}; they were started when the module was imported, by another thread, or as another user`,
    );
  }

  /** Kills the remaining processes at once. A thread that waits for a child can only be ended after that. */
  async kill(): Promise<void> {
    if (!this.#any) return;
    const killed = performance.now();
    do {
      const left = processesOf(this.#run, await this.#list());
      if (left.length === 0) return;
      signalAll(left, "SIGKILL");
      await sleep(LOOK_MS);
    } while (performance.now() - killed < KILLED_MS);
  }

  /**
   * The code of the run has ended, so its remaining processes end too. After success only those in the engine's process group
   * end: a process with a group of its own was started to stay.
   */
  async end(succeeded: boolean): Promise<void> {
    if (!this.#any) return;
    const all = await this.#list();
    const group = all.find(({ pid }) => pid === process.pid)?.group;
    const stays = (one: SystemProcess): boolean => succeeded && one.group !== group;
    const mine = processesOf(this.#run, all);
    const staying = mine.filter(stays);
    const left = mine.filter((one) => !stays(one));
    if (staying.length > 0) this.#tell(INFO, `child processes with a process group of their own go on: ${namesOf(staying)}`);
    if (left.length === 0) return;
    if (!this.#stopped) {
      const advice = succeeded ? "; one that is to stay is started with `detached: true`" : "";
      this.#tell(WARNING, `child processes that had not ended are ended with the run: ${namesOf(left)}${advice}`);
    }
    signalAll(left, "SIGTERM");
    const asked = performance.now();
    while (performance.now() - asked < CHILD_GRACE_MS) {
      await sleep(LOOK_MS);
      const still = processesOf(this.#run, await this.#list());
      if (still.every(stays)) return;
    }
    signalAll(
      processesOf(this.#run, await this.#list()).filter((one) => !stays(one)),
      "SIGKILL",
    );
  }

  async #list(): Promise<SystemProcess[]> {
    try {
      return await listProcesses();
    } catch (error) {
      this.#tell(WARNING, `child processes of the run cannot be looked for: ${String(error)}`);
      return [];
    }
  }

  get #any(): boolean {
    return this.#gauges.children > this.#before;
  }
}
