/** Faults of the store: refusals, commits whose outcome is late or unknown, and another process that opens it. */
import type { CommitRequest, Owner } from "#storage/port";
import type { Coverage } from "./coverage.ts";
import { type CommitFault, type Fault, isCommitFault } from "./fault-plan.ts";
import type { Random } from "./random.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import type { SimulatedTime } from "./simulated-time.ts";
import { type Trace, Violation } from "./trace.ts";

export interface StoreFaultPorts {
  disk: SimulatedDisk;
  time: SimulatedTime;
  random: Random;
  trace: Trace;
  coverage: Coverage;
  /** Whether another process owns the store. */
  isFenced(): boolean;
  /** Somebody starts the server again. */
  restart(): void;
}

export class StoreFaults {
  readonly #ports: StoreFaultPorts;
  /** Faults of the next commits. */
  #commits: CommitFault[] = [];
  /** The newest commit. */
  #number = 0;

  constructor(ports: StoreFaultPorts) {
    this.#ports = ports;
  }

  /** Null for a fault of something else; false when there is currently no opportunity. */
  commit(fault: Fault): boolean | null {
    if (fault === "store refuses") return this.#refuseCommits();
    if (fault === "another process takes the store over") return this.#takeOver();
    if (!isCommitFault(fault)) return null;
    this.#commits.push(fault);
    return true;
  }

  /** The fault of a commit that is being made. */
  takeCommitFault(): CommitFault | null {
    const fault = this.#commits.shift() ?? null;
    if (fault === null) return null;
    this.#ports.trace.add(`fault: ${fault}`);
    this.#ports.coverage.fault(fault);
    return fault;
  }

  calm(): void {
    this.#commits = [];
    this.#ports.disk.refusal = null;
  }

  /** Checks a commit that was stored: by the owner of the store, once for each number. */
  check({ batch: { number } }: CommitRequest, { epoch }: Owner): void {
    const { epoch: newest } = this.#ports.disk;
    if (epoch !== newest)
      throw new Violation("only the owner commits", `epoch ${epoch} made commit ${number}, the store has epoch ${newest}`);
    if (number !== this.#number + 1)
      throw new Violation("one commit for each number", `commit ${number} follows commit ${this.#number}`);
    this.#number = number;
  }

  #refuseCommits(): boolean {
    const { disk, time, random } = this.#ports;
    if (disk.refusal !== null) return false;
    disk.refusal = random.pick(["full", "io", "busy", "taken"]);
    time.after(random.between(100_000, 4_000_000), () => {
      disk.refusal = null;
    });
    return true;
  }

  #takeOver(): boolean {
    const { disk, time, random, isFenced, restart } = this.#ports;
    if (isFenced()) return false;
    disk.takeOver();
    time.after(random.between(100_000, 4_000_000), () => {
      if (isFenced()) restart();
    });
    return true;
  }
}
