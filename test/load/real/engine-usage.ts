/** What the engines of a server use: its child processes that execute flows, from the process table (Linux). */
import { readdirSync, readFileSync } from "node:fs";

const TICK_US = 10_000;
const KIB = 1_024;
const SAMPLE_MS = 100;
const ENGINE_PROGRAM = "sdk/engine/main.js";

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
  readonly #engines = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  #peakBytes = 0;
  #peakEngines = 0;

  constructor(server: number) {
    this.#server = server;
    this.#beforeUs = this.#cpuUs();
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  /** Ends the measurement. */
  end(): { cpuUs: number; engines: number; engineStarts: number; peakBytes: number } {
    clearInterval(this.#timer);
    this.#sample();
    const cpuUs = this.#cpuUs() - this.#beforeUs;
    return { cpuUs, engines: this.#peakEngines, engineStarts: this.#engines.size, peakBytes: this.#peakBytes };
  }

  #cpuUs(): number {
    const living = enginesOf(this.#server).reduce((sum, pid) => sum + (readStat(pid)?.ownUs ?? 0), 0);
    return living + (readStat(this.#server)?.endedChildrenUs ?? 0);
  }

  #sample(): void {
    const pids = enginesOf(this.#server);
    for (const pid of pids) this.#engines.add(pid);
    this.#peakEngines = Math.max(this.#peakEngines, pids.length);
    this.#peakBytes = Math.max(
      this.#peakBytes,
      pids.reduce((sum, pid) => sum + proportionalBytes(pid), 0),
    );
  }
}

function enginesOf(server: number): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && readStat(pid)?.parent === server && commandOf(pid).includes(ENGINE_PROGRAM));
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
