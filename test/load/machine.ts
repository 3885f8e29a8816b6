/** Where a figure was measured: without this it says little. */
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

const GIB = 1_073_741_824;

export interface Machine {
  processor: string;
  cores: number;
  memory_gib: number;
  system: string;
  node: string;
  /** Mean number of waiting processes in the minute before the test: what else the machine did. */
  load_before: number;
}

export function readMachine(): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memory_gib: Math.round(totalmem() / GIB),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    load_before: loadavg()[0] ?? 0,
  };
}
