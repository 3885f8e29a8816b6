/**
 * POST /api/engine/exchange: reports of all runs of an engine and a request for further runs, in one step. Each report stands
 * alone: a refused one changes nothing and refuses no other. An exchange with reports is answered with the work there is at
 * that moment; one without is held until there is work, a run is to be stopped, or a newer exchange arrives.
 */
import { type Refusal, refuse } from "#protocol/errors";
import { NAME_LENGTH_MAX } from "#protocol/limits";
import { ReportEvents } from "#protocol/records/engine";
import { type ExchangeOutcome, type ExchangeReport, ExchangeRequest, type StopOrder } from "#protocol/records/exchange";
import { parseJson } from "#protocol/values/json";
import { validate } from "#protocol/values/validate";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import type { Engine } from "../../core/state/engine.ts";
import { isEnded, type Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { SERVER_LOG } from "../../names.ts";
import { refuseEvents } from "../durable/refuse-events.ts";
import { answerPoll, noteProtocol, takeBack, takeRuns } from "../hand-out/hand-out.ts";
import { LEFT_AFTER_US, replaceEngine } from "../hand-out/work.ts";
import { renderAnswer, renderWorkItem } from "../hand-out/work-item.ts";
import { applyReport } from "../reports/report.ts";
import { cutText } from "../reports/sent-text.ts";
import { crashRun } from "../states/crash.ts";
import { noteBlocked } from "./blocked-engine.ts";
import { touchContact } from "./contact.ts";
import { takeJob } from "./jobs.ts";
import { findOrRegisterEngine, forgetEngine, isLeaving, isOfFormerProcess, mustLeave } from "./registered-engines.ts";
import { REMIND_AFTER_US } from "./stop-order.ts";

const LEFT = "left by its engine";

export function exchange(turn: Turn, command: Command<"Exchange">): void {
  const request = parseBody(turn, command, ExchangeRequest, parseJson);
  if (request === undefined) return;
  const twice = repeatedRun(request.reports) ?? repeatedRun(request.held);
  if (twice !== null) return turn.answers.refuse(command, refuse("invalid", `run ${twice} is named twice`));
  const identity = { ...request, owns_stop: true };
  if (isOfFormerProcess(turn, identity)) return dismiss(turn, command, request);
  replaceEngine(turn, identity);
  const engine = findOrRegisterEngine(turn, identity, command.local);
  if (request.exchange < engine.exchange)
    return turn.answers.refuse(command, refuse("exchange_outdated", request.exchange, engine.exchange));
  if (engine.poll !== null) answerPoll(turn, engine.poll, []);
  noteProtocol(turn, engine, true);
  engine.exchange = request.exchange;
  engine.lastContactUs = turn.state.uptimeUs();
  const over = new Set<number>();
  const outcomes = request.reports.map((report) => JSON.stringify(settleReport(turn, engine, report, over)));
  if (request.replace !== undefined) noteReplace(turn, engine, request.replace);
  const { stops, given } = settleHeld(turn, engine, request, over, command.id);
  noteBlocked(turn, engine, request.blocked_secs);
  if (request.spans !== undefined) noteSpans(turn, request.spans);
  const leaves = mustLeave(turn, engine);
  const slots = leaves || isLeaving(turn, engine) ? 0 : request.slots;
  const items = takeWork(turn, engine, given, slots, command.id);
  if (leaves) forgetEngine(turn, engine);
  const orders = stops.map((stop) => JSON.stringify(stop));
  // An engine takes a while to stop a run; until then its exchanges list the run.
  const told = stops.every(({ lease }) => hasJustBeenTold(turn, engine, lease));
  if (outcomes.length + items.length === 0 && told && !leaves && request.hold !== false) {
    const poll = turn.state.queue.park(engine, command.id, request.exchange, slots);
    poll.stops = orders;
    poll.remindUs = turn.state.uptimeUs() + REMIND_AFTER_US;
    return;
  }
  const orderedUs = turn.state.uptimeUs();
  engine.stopsOrdered = new Map(stops.map(({ lease }) => [lease, orderedUs]));
  turn.answers.text(command, 200, renderAnswer(request.exchange, items, leaves, outcomes, orders));
}

/** A process whose engine is another process by now reports what it did, and leaves. */
function dismiss(turn: Turn, command: Command<"Exchange">, { exchange, engine_id: id, held, reports }: ExchangeRequest): void {
  const outcomes = reports.map((report) => JSON.stringify(settleReport(turn, { id }, report, new Set())));
  const orders = held.map(({ run_id, lease }) => JSON.stringify({ run_id, lease, reason: "gone" } satisfies StopOrder));
  turn.answers.text(command, 200, renderAnswer(exchange, [], true, outcomes, orders));
}

/** An engine asks to be replaced: it goes on until its successor is ready. */
function noteReplace(turn: Turn, engine: Engine, sent: string): void {
  if (engine.replaceReason !== null) return;
  const reason = cutText(sent, NAME_LENGTH_MAX);
  engine.replaceReason = reason;
  turn.state.demand.set(engine.key.text, engine.key);
  const text = `engine ${engine.id} of ${engine.key.module} is replaced after ${engine.runsDone} runs: ${reason}`;
  turn.out.send(SERVER_LOG, { level: "warn", text });
}

function noteSpans({ state: { spans } }: Turn, { exported, dropped }: NonNullable<ExchangeRequest["spans"]>): void {
  spans.exported += exported;
  spans.dropped += dropped;
}

function hasJustBeenTold(turn: Turn, { stopsOrdered }: Engine, lease: number): boolean {
  return turn.state.uptimeUs() - (stopsOrdered.get(lease) ?? Number.NEGATIVE_INFINITY) < REMIND_AFTER_US;
}

function repeatedRun(named: readonly { run_id: number }[]): number | null {
  const seen = new Set<number>();
  for (const { run_id } of named) {
    if (seen.has(run_id)) return run_id;
    seen.add(run_id);
  }
  return null;
}

/** One report, and what became of it. A run that its engine no longer holds after the report is added to `over`. */
function settleReport(
  turn: Turn,
  engine: Pick<Engine, "id">,
  { run_id, lease, events, returned }: ExchangeReport,
  over: Set<number>,
): ExchangeOutcome {
  const run = turn.state.findRun(run_id);
  const refusal = refusalOf(turn, engine, run, { run_id, lease, events });
  if (run === undefined || refusal !== null) {
    const { status, message } = refusal ?? refuse("run_not_found", run_id);
    return { run_id, lease, status, error: message };
  }
  const held = run.assigned;
  const { cancel: _cancel, ...applied } = applyReport(turn, run, { engine_id: engine.id, run_id, lease }, events);
  if (returned === true && run.assigned && run.assignment_id === lease && run.state.type === "Scheduled") takeBack(turn, run);
  if (held && !run.assigned) over.add(run_id);
  return { run_id, lease, ...applied };
}

function refusalOf(
  turn: Turn,
  engine: Pick<Engine, "id">,
  run: Run | undefined,
  { run_id, lease, events }: Pick<ExchangeReport, "run_id" | "lease" | "events">,
): Refusal | null {
  if (run === undefined) return refuse("run_not_found", run_id);
  const checked = validate(ReportEvents, events);
  if (!checked.ok) return refuse("invalid", `reports of run ${run_id}: ${checked.error}`);
  if (!hasHeld(run, engine, lease)) return refuse("never_held", engine.id, run_id, lease);
  const wrong = refuseEvents(turn, run, events);
  if (wrong !== null) return wrong;
  // A large report of the run is under way as a request of its own; the engine sends this one again after it.
  return turn.state.openReports.find(run_id) === undefined ? null : refuse("busy");
}

/** Whether the run was handed out under this lease to this engine, now or before. */
function hasHeld(run: Run, engine: Pick<Engine, "id">, lease: number): boolean {
  if (lease === run.assignment_id) return run.engine_id === engine.id;
  return run.otherSequences.has(`#${lease}`);
}

/**
 * Compares the runs that the engine lists with those it was given. Being listed is contact. A run that was given and is not
 * listed was lost with an answer, or the engine has left the run. A listed run that the engine does not hold, or that is being
 * cancelled, is to be stopped, unless a report of this exchange has ended it.
 */
function settleHeld(
  turn: Turn,
  engine: Engine,
  request: ExchangeRequest,
  over: ReadonlySet<number>,
  command: number,
): { stops: StopOrder[]; given: string[] } {
  const stops: StopOrder[] = [];
  const listed = new Set<number>();
  for (const { run_id, lease } of request.held) {
    const run = turn.state.findRun(run_id);
    const holds = run?.assigned === true && run.assignment_id === lease && run.engine_id === engine.id && !isEnded(run);
    if (run === undefined || !holds) {
      if (!over.has(run_id)) stops.push({ run_id, lease, reason: "gone" });
      continue;
    }
    listed.add(run_id);
    touchContact(turn, run);
    if (run.state.type === "Cancelling") stops.push({ run_id, lease, reason: "cancel" });
  }
  const given: string[] = [];
  for (const run of [...engine.runs.values()]) if (!listed.has(run.id)) settleUnlisted(turn, engine, run, command, given);
  return { stops, given };
}

function settleUnlisted(turn: Turn, engine: Engine, run: Run, command: number, given: string[]): void {
  if (!run.acknowledged) {
    turn.state.rememberCommand(command, run);
    given.push(renderWorkItem(turn.state, run, engine));
  } else if (turn.state.uptimeUs() - run.lastContactUs >= LEFT_AFTER_US) crashRun(turn, run, LEFT);
}

/** Items that were given before and lost, then a job, then ready runs. */
function takeWork(turn: Turn, engine: Engine, given: string[], slots: number, command: number): string[] {
  const items = given;
  // An engine that always holds runs does jobs beside them.
  const job = items.length < slots ? takeJob(turn, engine) : null;
  if (job !== null) return [...items, job.itemText];
  if (items.length < slots) items.push(...takeRuns(turn, engine, command, slots - items.length));
  return items;
}
