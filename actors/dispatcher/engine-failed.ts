/** POST /api/engine/failed: a module could not be loaded, so every run queued under that key fails. */
import type { Command } from "#protocol/command";
import { MESSAGE_LENGTH_MAX } from "#protocol/limits";
import { engineKeyText } from "../live-state/engine.ts";
import { updateFlow } from "../records/register-flow.ts";
import type { Turn } from "../turn.ts";
import { moveRun } from "./move-run.ts";
import { keyOfRun } from "./queue.ts";
import { cutText } from "./sent-text.ts";

const UNNAMED_FAILURE = "import failed";

export function engineFailed(turn: Turn, command: Command<"EngineFailed">): void {
  const sent = command.body;
  const { source_dir, module } = sent;
  const traceback = cutText(sent.traceback, MESSAGE_LENGTH_MAX);
  const key = engineKeyText({ source_dir, module, isolated: sent.isolated ?? false, nice: sent.nice ?? 0 });
  const spawned = turn.state.pool.get(sent.engine_id);
  if (spawned !== undefined) spawned.toldFailure = true;
  const message =
    traceback
      .split("\n")
      .findLast((line) => line.trim() !== "")
      ?.trim() ?? UNNAMED_FAILURE;
  const failed: number[] = [];
  for (const run of [...turn.state.runs.values()]) {
    if (run.place === "none" || keyOfRun(run) !== key) continue;
    const details = { traceback, forced: true };
    moveRun(turn, run, { type: "Failed", name: "Failed", timestamp: turn.nowUs, message, details });
    failed.push(run.id);
  }
  for (const flow of turn.state.flows.values()) {
    if (flow.module !== module || flow.source_dir !== source_dir) continue;
    flow.error = message;
    updateFlow(turn, flow);
    turn.stream("flow.registered", flow.id);
  }
  turn.replyJson(command, 200, { failed_runs: failed });
}
