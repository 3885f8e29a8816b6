/** POST /api/runs/{id}/retry: a new run with the parameters, tags and priority of an ended run. */

import { refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import { isEnded } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { createRun } from "./create-run.ts";
import { lackOfRoom } from "./lack-of-room.ts";
import { nameOfRerun } from "./run-names.ts";

export function retryRunCommand(turn: Turn, command: Command): void {
  const { state } = turn;
  const ended = state.findRun(command.target);
  if (ended === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  if (!isEnded(ended)) return turn.answers.refuse(command, refuse("run_not_ended", ended.state.name));
  if (state.stopping) return turn.answers.refuse(command, refuse("stopping"));
  const full = lackOfRoom(turn, 1);
  if (full !== null) return turn.answers.refuse(command, full);
  const run = createRun(turn, ended.flow, {
    name: nameOfRerun(state.textsOf(ended).name, ended.reruns + 1),
    parametersText: state.parametersOf(ended),
    tags: state.tagsOf(ended),
    createdBy: `retry:${ended.id}`,
    parentRunId: ended.id,
    follows: ended,
    priority: ended.priority,
    attempt: 0,
  });
  turn.answers.run(command, 201, run);
}
