/** POST /api/runs/{id}/retry: a new run with the parameters, tags and priority of an ended run. */

import { Refusal, refuse } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import { fireTimeOf, isEnded } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { forkLineage, originOfRetry } from "../durable/fork.ts";
import { createRun } from "./create-run.ts";
import { lackOfRoom } from "./lack-of-room.ts";
import { nameOfRerun } from "./run-names.ts";

export function retryRunCommand(turn: Turn, command: Command<"RetryRun">): void {
  const { state } = turn;
  const ended = state.findRun(command.target);
  if (ended === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  if (!isEnded(ended)) return turn.answers.refuse(command, refuse("run_not_ended", ended.state.name));
  if (state.stopping) return turn.answers.refuse(command, refuse("stopping"));
  const full = lackOfRoom(turn, 1);
  if (full !== null) return turn.answers.refuse(command, full);
  const origin = originOfRetry(turn, ended, command.body?.from ?? null);
  if (origin instanceof Refusal) return turn.answers.refuse(command, origin);
  const lineage = origin === null ? null : forkLineage(turn, origin);
  const run = createRun(turn, ended.flow, {
    name: nameOfRerun(state.textsOf(ended).name, ended.reruns + 1),
    parametersText: state.parametersOf(ended),
    tags: state.tagsOf(ended),
    createdBy: `retry:${ended.id}`,
    scheduleId: ended.schedule_id,
    fireTime: fireTimeOf(ended),
    traceparent: state.textsOf(ended).traceparent,
    parentRunId: ended.id,
    follows: ended,
    priority: ended.priority,
    attempt: 0,
    ...(lineage !== null && { lineage: { lineage, callerRunId: null } }),
  });
  turn.answers.run(command, 201, run);
}
