/** A report of the load generator with two sides, three rounds and charts. */
import { SHARES } from "../load/distribution.ts";
import type { Part, Report } from "../load/report/report.ts";
import type { PhaseRecord } from "../load/report/summary.ts";

const PHASE = "bare runs";

function recordOf(
  target: string,
  round: number,
  runs: number,
  seconds: readonly number[],
  rates: readonly number[],
): PhaseRecord {
  const values = (base: number) => seconds.map((at) => base + at);
  return {
    phase: PHASE,
    target,
    round,
    figures: [{ name: "runs", unit: "runs/s", value: runs }],
    notes: target === "slots" && round === 1 ? ["failed: <one>"] : [],
    timeline: {
      seconds: [...seconds],
      rate: rates.map((rate) => rate + round),
      processes: [{ name: "server", cores: values(0.5), mib: values(100) }],
    },
    distributions: [{ name: "create", ms: SHARES.map((_, index) => index + 1) }],
  };
}

const RUNS = [1_900, 2_000, 2_100];

export function sampleReport(): Report {
  const part: Part = {
    title: "Simulated engines with slots",
    command: "npm run load -- --slots",
    facts: ["3 rounds"],
    options: {},
    phases: [PHASE],
    rounds: RUNS.length,
    targets: [
      { name: "slots", version: "1.2.3", durability: "normal", start_ms: 900 },
      { name: "specified", version: "1.2.3", durability: "normal", start_ms: null },
    ],
    records: RUNS.flatMap((runs, index) => [
      recordOf("slots", index + 1, runs, [0.25, 0.75], [300, 600]),
      recordOf("specified", index + 1, 1_000, [0.25, 0.5], [100, 200]),
    ]),
  };
  const machine = {
    processor: "Test Processor",
    cores: 2,
    memory_gib: 4,
    system: "linux",
    node: "v22",
    load_before: 0.5,
  };
  return { command: part.command, measured_at: "2026-01-01T00:00:00.000Z", machine, goals: [], parts: [part] };
}
