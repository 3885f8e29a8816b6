/**
 * How a model engine with slots executes a run of a durable flow, and parks a run of any flow for its retry delay. Reports go
 * with exchanges or as requests of their own; answers decide whether the engine goes on, gives the run up or ends it.
 */
import type { ArmedWaits } from "#protocol/records/durable";
import type { ReportResponse, WorkItem } from "#protocol/records/engine";
import type { ExchangeOutcome } from "#protocol/records/exchange";
import type { CommandKind } from "#protocol/wire/command";
import type { DurableFeature } from "./coverage.ts";
import { type DurableCourse, type Next, retryPark } from "./durable-course.ts";
import { THINK_US } from "./engine-process.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";

/** Attempts of a run, counted over its parks for a retry delay. */
const ATTEMPTS_MAX = 3;
const LOOK_US = 700_000;
const LATE_US = [1_000_000, 4_000_000];
/** A step of no program. */
const LATE_STEP = { identity: "e".repeat(32), place: "e".repeat(32), name: "late" };
const NO_WAIT = "f".repeat(32);

/** What became of a report, whichever way it went. */
type Settled = Pick<ExchangeOutcome | ReportResponse, "fenced" | "run_state">;

/** What an engine does for one run that it holds. */
export interface Hands {
  random: Random;
  time: SimulatedTime;
  calm(): boolean;
  reached(feature: DurableFeature): void;
  /** False once the engine does not hold the run any more, or ends it. */
  holds(): boolean;
  seq(): number;
  later(meanUs: number, run: () => void): void;
  /** `settled` is called only while the engine holds the run. */
  report(events: readonly unknown[], settled: (outcome: Settled) => void): void;
  /** The same for a run that the engine does not hold any more. */
  reportLate(events: readonly unknown[], settled: (outcome: Settled) => void): void;
  /** As a request of its own. */
  reportAlone(events: readonly unknown[], settled: (outcome: Settled) => void): void;
  ask(kind: CommandKind, target: number, body: string, answered: (status: number, text: string) => void): void;
  leave(): void;
  cancel(): void;
  end(): void;
  fail(): void;
}

/** Goes on with a run whose start the server has accepted. */
export function follow(course: DurableCourse, hands: Hands): void {
  if (!hands.holds()) return;
  const next = course.next();
  const again = (): void => hands.later(THINK_US, () => follow(course, hands));
  switch (next.kind) {
    case "read":
      return hands.later(THINK_US, () => {
        if (!hands.holds()) return;
        if (course.read()) again();
        else hands.leave();
      });
    case "steps":
      return store(course, hands, next, again);
    case "arm":
      return arm(course, hands, next, again);
    case "wait":
      return wait(course, hands, next, again);
    case "end":
      return end(course, hands);
  }
}

function store(course: DurableCourse, hands: Hands, { steps }: Extract<Next, { kind: "steps" }>, again: () => void): void {
  const { random } = hands;
  // Steps that run side by side end together or one after the other.
  const done = random.chance(0.6) ? steps : steps.slice(0, 1);
  const { events, values } = course.stepEvents(done, () => hands.seq());
  const settled = ({ fenced }: Settled): void => {
    if (fenced === true) {
      hands.reached("a step under a lease that is over");
      return hands.leave();
    }
    course.acknowledge(values);
    again();
  };
  if (random.chance(0.25)) hands.reportAlone(events, settled);
  else hands.report(events, settled);
}

function arm(course: DurableCourse, hands: Hands, { waits }: Extract<Next, { kind: "arm" }>, again: () => void): void {
  const { run_id } = course.item;
  const body = course.armBody(waits);
  hands.ask("ArmWaits", run_id, body, (status, text) => {
    if (!hands.holds()) return;
    if (status === 409) return hands.leave();
    if (status !== 200) return hands.fail();
    for (const armed of (JSON.parse(text) as ArmedWaits).waits) course.note(armed);
    again();
  });
  // Sent over another connection as well.
  if (!hands.calm() && hands.random.chance(0.1)) hands.ask("ArmWaits", run_id, body, () => undefined);
}

function wait(course: DurableCourse, hands: Hands, { open, hold }: Extract<Next, { kind: "wait" }>, again: () => void): void {
  const { random } = hands;
  const stays = random.chance(hands.calm() ? 0.1 : 0.3);
  if (stays)
    return hands.later(LOOK_US, () => {
      if (!hands.holds()) return;
      if (course.look()) again();
      else hands.leave();
    });
  const isWrong = !hands.calm() && random.chance(0.02);
  const waits = isWrong ? [...open, { ...open[0], identity: NO_WAIT } as (typeof open)[number]] : open;
  if (isWrong) hands.reached("a park for a wait that does not exist");
  if (hold) hands.reached("a parked run keeps its resources");
  hands.report([course.park(waits, hold, hands.seq())], (outcome) => {
    parked(hands, outcome, again);
    if (!hands.holds()) storeLate(course, hands);
  });
}

/** An engine may report the result of a step after it has lost the run: such a result is not stored. */
function storeLate(course: DurableCourse, hands: Hands): void {
  if (hands.calm() || !hands.random.chance(0.6)) return;
  hands.later(hands.random.pick(LATE_US), () => {
    const { events, values } = course.stepEvents([LATE_STEP], () => hands.seq());
    const sent = (again: boolean) => {
      hands.reportLate(events, ({ fenced }) => {
        if (fenced !== true) return course.acknowledge(values);
        hands.reached("a step under a lease that is over");
        // As if the answer had been lost.
        if (again) sent(false);
      });
    };
    sent(hands.random.chance(0.5));
  });
}

function parked(hands: Hands, { fenced, run_state }: Settled, again: () => void): void {
  if (fenced === true || run_state === undefined) return hands.leave();
  if (run_state.type === "Running") return again();
  if (run_state.type === "Cancelling") return hands.cancel();
  if (run_state.name === "Resuming") hands.reached("a park for a wait that has settled");
  hands.leave();
}

function end(course: DurableCourse, hands: Hands): void {
  const retries = course.attempt < ATTEMPTS_MAX && hands.random.chance(hands.calm() ? 0 : 0.2);
  if (retries) parkForRetry(course.item, hands, hands.end);
  else hands.end();
}

/** The attempt has failed: the run leaves its engine until the next one. */
export function parkForRetry(item: WorkItem, hands: Hands, otherwise: () => void): void {
  const attempt = item.progress?.attempt ?? 1;
  if (item.park_after_secs === undefined || attempt >= ATTEMPTS_MAX) return otherwise();
  const delay = hands.random.pick([0, 0.5, 6, 15]);
  hands.reached("a run is parked for its retry delay");
  hands.report([retryPark(attempt, hands.time.nowUs(), delay, hands.seq())], (outcome) => parked(hands, outcome, otherwise));
}
