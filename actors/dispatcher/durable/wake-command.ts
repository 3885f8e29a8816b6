/** POST /api/runs/{id}/wake: ends the sleep or the retry delay of a parked run now. */
import { refuse, refuseWake } from "#protocol/errors";
import type { Command } from "#protocol/wire/command";
import type { StoredWait } from "../../core/state/durable.ts";
import type { Turn } from "../../core/turn.ts";
import { settleWait, wakeRun } from "./settle.ts";

export function wakeCommand(turn: Turn, command: Command<"WakeRun">): void {
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  const park = run.durable?.park ?? null;
  const sleeps = (park?.waits ?? [])
    .flatMap((id) => turn.state.durable.openWait(id) ?? [])
    .filter(({ kind }) => kind === "sleep");
  if (park === null || (sleeps.length === 0 && park.wakeAt === null)) return turn.answers.refuse(command, refuseWake(run.state));
  const first = sleeps.reduce<StoredWait | null>(
    (best, wait) => (best === null || dueOf(wait) < dueOf(best) ? wait : best),
    null,
  );
  if (first !== null) settleWait(turn, first, { kind: "slept" });
  else wakeRun(turn, run);
  turn.answers.run(command, 200, run);
}

function dueOf({ due }: StoredWait): number {
  return due ?? Number.POSITIVE_INFINITY;
}
