/** How large the acceptance is. */
import { availableParallelism } from "node:os";

export interface Sizes {
  /** Engines of the pool by default. */
  engines: number;
  waiting: { runs: number; seconds: number; limitSeconds: number; limitMb: number };
  beside: { waiting: number; beats: number; computing: number; limitMs: number };
  interleaved: number;
  onceRuns: number;
  /** Settings of the server whose engines crash. */
  crashing: string;
}

/** The promises, on a machine that does nothing else. */
export const FULL: Sizes = {
  engines: availableParallelism(),
  waiting: { runs: 500, seconds: 10, limitSeconds: 15, limitMb: 300 },
  beside: { waiting: 100, beats: 40, computing: 8, limitMs: 1_100 },
  interleaved: 1_000,
  onceRuns: 8,
  crashing: "",
};

/** Small, and without a bound on time below ten times the expectation. */
export const SHORT: Sizes = {
  engines: availableParallelism(),
  waiting: { runs: 100, seconds: 1, limitSeconds: 35, limitMb: 1_000 },
  beside: { waiting: 20, beats: 8, computing: 3, limitMs: 11_000 },
  interleaved: 100,
  onceRuns: 3,
  crashing: "[server]\ncrash_rerun_delay_secs = [0.1, 0.2]\n",
};
