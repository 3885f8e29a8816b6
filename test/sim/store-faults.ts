/** Faults of the store: refusals, commits whose outcome is late or unknown, and another process that opens it. */
import type { CommitRequest, Owner } from "#storage/port";
import { commandsOf } from "#storage/write/batch";
import type { Coverage } from "./coverage.ts";
import { type CommitFault, type Fault, isCommitFault } from "./fault-plan.ts";
import type { Random } from "./random.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import type { SimulatedTime } from "./simulated-time.ts";
import { type Trace, Violation } from "./trace.ts";

/** Attempts with others and alone, some of them with a core that has ended since. */
const ATTEMPTS_MAX = 20;

export interface StoreFaultPorts {
  disk: SimulatedDisk;
  time: SimulatedTime;
  random: Random;
  trace: Trace;
  coverage: Coverage;
  /** Whether another process owns the store. */
  isFenced(): boolean;
  violated(violation: Violation): void;
  /** Somebody starts the server again. */
  restart(): void;
}

export class StoreFaults {
  readonly #ports: StoreFaultPorts;
  /** Faults of the next commits. */
  #commits: CommitFault[] = [];
  /** The newest commit. */
  #number = 0;
  /** Commands to choose at the next commits, so that these can't be stored. */
  #defectsDue = 0;
  /** Commands that can't be stored, with the number of attempts. */
  readonly #defects = new Map<number, number>();

  constructor(ports: StoreFaultPorts) {
    this.#ports = ports;
  }

  /** Null for a fault of something else; false when there is currently no opportunity. */
  commit(fault: Fault): boolean | null {
    if (fault === "store refuses") return this.#refuseCommits();
    if (fault === "another process takes the store over") return this.#takeOver();
    if (fault === "a command cannot be stored") {
      this.#defectsDue += 1;
      return true;
    }
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

  /** True for a commit that throws, because one of its commands can't be stored. */
  hasDefect({ batch }: CommitRequest): boolean {
    const commands = commandsOf(batch);
    if (this.#defectsDue > 0 && commands.length > 0) {
      this.#defectsDue -= 1;
      this.#defects.set(this.#ports.random.pick(commands), 0);
      this.#ports.coverage.fault("a command cannot be stored");
    }
    const found = commands.find((id) => this.#defects.has(id));
    if (found === undefined) return false;
    const attempts = (this.#defects.get(found) ?? 0) + 1;
    this.#defects.set(found, attempts);
    this.#ports.trace.add(`fault: command ${found} cannot be stored`);
    if (attempts === ATTEMPTS_MAX)
      this.#ports.violated(new Violation("what cannot be stored is given up", `command ${found} was tried ${attempts} times`));
    return true;
  }

  calm(): void {
    this.#commits = [];
    this.#defectsDue = 0;
    this.#defects.clear();
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
