/** The faults of a seed, their number and times: drawn before the first step, so that every seed has a different mix. */
import type { Random } from "./random.ts";

/** The error of what was made to throw. */
export const SIMULATED = "simulated defect";

export const FAULTS = [
  /** An actor throws before or after changing its state; the decision of that step is lost. */
  "dispatcher throws",
  "leases throws",
  "records throws",
  "scheduler throws",
  "rules throws",
  "rule-reader throws",
  "expectations throws",
  "outbound throws",
  /** A reader ends during a request. */
  "reading fails",
  /** An event makes the rule engine throw each time it is processed. */
  "event crashes the rules",
  "log-writer throws",
  /** The store writer fails before its commit, or after the commit and before any answer. */
  "store-writer throws before commit",
  "store-writer throws after commit",
  /** The same, and the core's thread ends too: no actor is left that knows of the commit. */
  "store-writer throws and core ends after commit",
  /** A whole thread ends; part of what it sent still arrives. */
  "core thread ends",
  "core thread ends while a backfill is cancelled",
  "writer thread ends",
  /** Everything in memory is lost, the store remains. */
  "process restarts",
  /** Commits fail for a while, or a check of the files does. */
  "store refuses",
  /** The writers do not learn the outcome of a commit, or learn it late. */
  "commit is unknown, and stored",
  "commit is unknown, and not stored",
  "commit takes a while",
  /** The commit of a command throws, whenever it is made. */
  "a command cannot be stored",
  /** Another process opens the store for writing. This one only reads, until it is started again. */
  "another process takes the store over",
  /** A link delivers nothing for a while. */
  "link stalls",
  "client leaves",
  "request is sent twice",
  "engine process ends",
  "engine with most runs ends",
  /** Another process takes the name of the engine, while a request of the former one is still under way. */
  "engine is replaced at once",
  "engine is silent",
  "clock steps 5 s forward",
  "clock steps 5 s back",
  "clock steps 1 h forward",
  "clock steps 1 h back",
  "clock steps 1 day forward",
  "clock steps 1 day back",
  "clock is a day ahead for a while",
  /** Time passes, but not on the clock of processes. */
  "machine sleeps 8 h",
] as const;

export type Fault = (typeof FAULTS)[number];

const COMMIT_FAULTS = ["commit is unknown, and stored", "commit is unknown, and not stored", "commit takes a while"] as const;

/** A fault of the next commit. */
export type CommitFault = (typeof COMMIT_FAULTS)[number];

export function isCommitFault(fault: Fault): fault is CommitFault {
  return (COMMIT_FAULTS as readonly Fault[]).includes(fault);
}

/** Faults that are counted when they happen, not when they are planned. */
export function isCountedLater(fault: Fault): boolean {
  return fault === "reading fails" || fault === "a command cannot be stored" || isCommitFault(fault);
}

/** Faults that happen at an actor's or engine's next opportunity; other faults happen at once. */
const OFTEN: ReadonlySet<Fault> = new Set<Fault>([
  "client leaves",
  "request is sent twice",
  "engine process ends",
  "engine with most runs ends",
  "engine is replaced at once",
  "engine is silent",
  "link stalls",
  "rules throws",
  "rule-reader throws",
  "outbound throws",
  "reading fails",
]);

/** Faults that wait for a rare opportunity from the start on; once, because it lasts. */
const AWAITED: ReadonlySet<Fault> = new Set<Fault>(["core thread ends while a backfill is cancelled"]);

export interface PlannedFault {
  fault: Fault;
  /** Number of handled messages at which the fault is due. */
  at: number;
}

/** Draws the faults of a seed over `messages` messages: each kind occurs in two of three seeds, and then at least once. */
export function planFaults(random: Random, messages: number): PlannedFault[] {
  const planned: PlannedFault[] = [];
  for (const fault of FAULTS) {
    if (!random.chance(2 / 3)) continue;
    if (AWAITED.has(fault)) planned.push({ fault, at: 0 });
    const times = AWAITED.has(fault) ? 0 : OFTEN.has(fault) ? random.between(2, 10) : random.between(1, 3);
    for (let time = 0; time < times; time += 1) planned.push({ fault, at: random.below(Math.ceil(messages * 0.9)) });
  }
  return planned.sort((a, b) => a.at - b.at);
}
