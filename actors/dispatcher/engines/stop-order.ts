/** Tells an engine that waits in an exchange at once that one of its runs is to be stopped. */
import type { StopOrder } from "#protocol/records/exchange";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { renderAnswer } from "../hand-out/work-item.ts";

/** An engine that does not wait learns of it by the answer to its next exchange. */
export function orderStop(turn: Turn, run: Run, reason: StopOrder["reason"]): void {
  const engine = run.engine_id === null ? undefined : turn.state.engines.get(run.engine_id);
  const poll = engine?.poll ?? null;
  if (poll === null || poll.exchange === null) return;
  const stop = JSON.stringify({ run_id: run.id, lease: run.assignment_id, reason } satisfies StopOrder);
  turn.state.queue.unpark(poll);
  turn.answers.poll(poll.command, renderAnswer(poll.exchange, [], false, [], [stop]));
}
