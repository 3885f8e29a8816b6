/** POST /api/runs/{id}/resume: the answer to a pause; the next attempt is queued with it. */
import type { Command } from "#protocol/command";
import { refuse, refuseResume } from "#protocol/errors";
import { canonicalJson } from "#protocol/json";
import type { ResumeBody } from "#protocol/run";
import { putOperation } from "#storage/ops";
import type { Turn } from "../turn.ts";
import { moveRun } from "./moves.ts";

export function resumeRunCommand(turn: Turn, command: Command): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.refuse(command, refuse("run_not_found", command.target));
  if (run.state.type !== "Paused") return turn.refuse(command, refuseResume(run.state));
  const { input } = command.body as ResumeBody;
  run.answers += 1;
  putOperation(turn.decision.ops, "insert_answer", run.id, run.answers, canonicalJson(input), turn.nowUs);
  moveRun(turn, run, { type: "Scheduled", name: "Resuming", timestamp: turn.nowUs, message: null, details: {} });
  turn.replyRun(command, 200, run);
}
