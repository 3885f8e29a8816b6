/** What the engines of a server use: its child processes that execute flows, from the process table (Linux). */
import { readdirSync, readFileSync } from "node:fs";
import type { ProcessUsage } from "../process-usage.ts";
import { ENGINE_PROGRAM } from "./engine-program.ts";

const TICK_US = 10_000;
const KIB = 1_024;
const SAMPLE_MS = 250;
/** Memory is read with every so many samples: the system has to look at every page. */
const SAMPLES_PER_MEMORY = 4;

interface Stat {
  parent: number;
  ownUs: number;
  /** Time of children that have ended and were waited for. */
  endedChildrenUs: number;
}

/** Engines from the start of the measurement; the processor time of engines that have left counts too. */
export class EngineUsage {
  readonly #server: number;
  readonly #beforeUs: number;
  readonly #timer: NodeJS.Timeout;
  /** All engines so far. */
  readonly #engines = new Set<number>();
  /** Other processes of the machine, which are not looked at again. */
  readonly #others = new Set<number>();
  readonly #seenOnce = new Set<number>();
  #living: number[] = [];
  #samples = 0;
  #bytes = 0;
  #peakBytes = 0;
  #peakEngines = 0;

  constructor(server: number) {
    this.#server = server;
    this.#sample();
    this.#beforeUs = this.#cpuUs();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** Ends the measurement. */
  end(): { cpuUs: number; engines: number; engineStarts: number; peakBytes: number } {
    clearInterval(this.#timer);
    this.#samples = 0;
    this.#sample();
    const cpuUs = this.#cpuUs() - this.#beforeUs;
    return { cpuUs, engines: this.#peakEngines, engineStarts: this.#engines.size, peakBytes: this.#peakBytes };
  }

  /** All engines together, as of the newest sample. */
  usage(): ProcessUsage {
    return { cpuUs: this.#cpuUs(), residentBytes: this.#bytes };
  }

  #cpuUs(): number {
    const living = this.#living.reduce((sum, pid) => sum + (readStat(pid)?.ownUs ?? 0), 0);
    return living + (readStat(this.#server)?.endedChildrenUs ?? 0);
  }

  #sample(): void {
    this.#living = readdirSync("/proc")
      .map(Number)
      .filter((pid) => pid > 0 && !this.#others.has(pid) && this.#isEngine(pid));
    this.#peakEngines = Math.max(this.#peakEngines, this.#living.length);
    this.#samples += 1;
    if (this.#samples % SAMPLES_PER_MEMORY !== 1) return;
    this.#bytes = this.#living.reduce((sum, pid) => sum + proportionalBytes(pid), 0);
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
  }

  #isEngine(pid: number): boolean {
    if (readStat(pid)?.parent === this.#server && (this.#engines.has(pid) || commandOf(pid).includes(ENGINE_PROGRAM))) {
      this.#engines.add(pid);
      return true;
    }
    // A new child has the command line of its parent until it executes its program.
    if (this.#seenOnce.has(pid)) this.#others.add(pid);
    this.#seenOnce.add(pid);
    return false;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}

/** Memory with shared pages counted in proportion, so that the sum over engines is what they take together. */
function proportionalBytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"))?.[1] ?? 0) * KIB;
  } catch {
    return 0;
  }
}

function readStat(pid: number): Stat | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command name may contain spaces and brackets; the fields after it start behind the last bracket, with field 3.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = (...numbers: number[]) => numbers.reduce((sum, n) => sum + Number(fields[n - 3]), 0) * TICK_US;
    return { parent: Number(fields[4 - 3]), ownUs: ticks(14, 15), endedChildrenUs: ticks(16, 17) };
  } catch {
    return null;
  }
}
