/** The machine of a measurement: figures mean little without it. */
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

const GIB = 1_073_741_824;

export interface Machine {
  processor: string;
  cores: number;
  memory_gib: number;
  system: string;
  node: string;
  /** Load average of the minute before the test, which shows other load on the machine. */
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
