/** Orders to stop runs, as answers to the held exchange of their engine: at once, and again while the engine lists the runs. */
import type { StopOrder } from "#protocol/records/exchange";
import type { ParkedPoll } from "../../core/state/engine.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { renderAnswer } from "../hand-out/work-item.ts";

/** An order is repeated after this long, because its answer may have been lost, or the engine may not have obeyed. */
export const REMIND_AFTER_US = 1_000_000;

/** An engine without a held exchange gets the order in the answer to its next exchange. */
export function orderStop(turn: Turn, run: Run, reason: StopOrder["reason"]): void {
  const engine = run.engine_id === null ? undefined : turn.state.engines.get(run.engine_id);
  const poll = engine?.poll ?? null;
  if (poll === null || poll.exchange === null) return;
  const stop = JSON.stringify({ run_id: run.id, lease: run.assignment_id, reason } satisfies StopOrder);
  answerWith(turn, poll, [...poll.stops, stop]);
}

/** Repeats the orders to engines that wait although they have not stopped what they were told to. */
export function remindOfStops(turn: Turn): void {
  const uptimeUs = turn.state.uptimeUs();
  for (const poll of [...turn.state.queue.polls()])
    if (poll.stops.length > 0 && uptimeUs >= poll.remindUs) answerWith(turn, poll, poll.stops);
}

function answerWith(turn: Turn, poll: ParkedPoll, stops: readonly string[]): void {
  turn.state.queue.unpark(poll);
  turn.answers.poll(poll.command, renderAnswer(poll.exchange, [], false, [], stops));
}
