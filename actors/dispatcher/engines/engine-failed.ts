/** POST /api/engine/failed: a module could not be loaded, so every run queued under that key fails. */

import { MESSAGE_LENGTH_MAX } from "#protocol/limits";
import type { Command } from "#protocol/wire/command";
import { engineKey } from "../../core/state/engine.ts";
import { engineKeyOf } from "../../core/state/work-queue.ts";
import type { Turn } from "../../core/turn.ts";
import { updateFlow } from "../../records/flows/register-flow.ts";
import { cutText } from "../reports/sent-text.ts";
import { forceRun } from "../states/move-run.ts";

const UNNAMED_FAILURE = "import failed";

export function engineFailed(turn: Turn, command: Command<"EngineFailed">): void {
  const sent = command.body;
  const { source_dir, module } = sent;
  const traceback = cutText(sent.traceback, MESSAGE_LENGTH_MAX);
  const key = engineKey({ source_dir, module, isolated: sent.isolated ?? false, nice: sent.nice ?? 0 });
  const spawned = turn.state.pool.get(sent.engine_id);
  if (spawned !== undefined) spawned.toldFailure = true;
  const message =
    traceback
      .split("\n")
      .findLast((line) => line.trim() !== "")
      ?.trim() ?? UNNAMED_FAILURE;
  const failed: number[] = [];
  for (const run of [...turn.state.runs.values()]) {
    if (run.place === "none" || engineKeyOf(run).text !== key.text) continue;
    const details = { traceback, forced: true };
    forceRun(turn, run, { type: "Failed", name: "Failed", timestamp: turn.nowUs, message, details });
    failed.push(run.id);
  }
  for (const flow of turn.state.flows.values()) {
    if (flow.module !== module || flow.source_dir !== source_dir) continue;
    flow.error = message;
    updateFlow(turn, flow);
    turn.stream.add("flow.registered", flow.id);
  }
  turn.answers.json(command, 200, { failed_runs: failed });
}
