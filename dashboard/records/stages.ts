/** The stages of runs in words, and the look of each. */
import type { RunStage } from "#protocol/records/timing";

interface StageLook {
  word: string;
  /** The state whose colour the stage has. */
  token: string;
}

export const STAGE_LOOKS: Readonly<Record<RunStage, StageLook>> = {
  creating: { word: "to store it", token: "scheduled" },
  not_due: { word: "not due", token: "scheduled" },
  held: { word: "held for its backfill", token: "scheduled" },
  waiting: { word: "waited", token: "scheduled" },
  restart: { word: "waited for a restart of the server", token: "scheduled" },
  capped: { word: "waited because of max_running", token: "late" },
  blocked: { word: "waited for a resource", token: "awaiting-resource" },
  queued: { word: "waited for an engine", token: "late" },
  handed_out: { word: "to hand it out", token: "pending" },
  starting: { word: "until it began", token: "pending" },
  running: { word: "worked", token: "running" },
  paused: { word: "paused", token: "paused" },
  parked: { word: "parked", token: "sleeping" },
  retry: { word: "waited for the next attempt", token: "awaiting-retry" },
  reporting: { word: "to report its end", token: "resuming" },
  publishing: { word: "to store its end", token: "resuming" },
  unrecorded: { word: "not recorded", token: "skipped" },
  ended: { word: "had ended", token: "cancelled" },
};

/** Of a blocked run, with what blocked it. */
export function stageWords({ stage, object }: { stage: RunStage; object: string | null }): string {
  const { word } = STAGE_LOOKS[stage];
  return object === null ? word : `waited for ${object}`;
}
