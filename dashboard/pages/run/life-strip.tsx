/** The use of a run's time: waits in outline, work filled. From the run's own events. */
import type { JSX } from "preact";
import type { Event } from "#protocol/records/event";
import type { Run } from "#protocol/records/run";
import { isTerminal, type StateType } from "#protocol/records/state";
import { duration } from "../../format/duration.ts";
import { now, nowUs } from "../../format/now.ts";
import { counted } from "../../format/number.ts";
import { attemptsOf } from "../../records/attempts.ts";
import { lookOf } from "../../state/look.ts";

interface Stretch {
  token: string;
  word: string;
  works: boolean;
  us: number;
}

const WORKS: ReadonlySet<string> = new Set(["Running"]);

/**
 * One stretch from each event of the run to the next; a failed attempt ends in a wait for the next attempt, without an event.
 */
function stretchesOf(run: Run, events: readonly Event[], endUs: number): Stretch[] {
  const stretches: Stretch[] = [];
  const ends = attemptsOf(run).map(([, toUs]) => toUs);
  const waiting = { type: "Scheduled", name: "AwaitingRetry" } as const;
  const add = (state: { type: StateType; name: string }, us: number) => {
    const { token, word } = lookOf(state);
    if (us > 0) stretches.push({ token, word, us, works: WORKS.has(state.type) });
  };
  for (const [index, event] of events.entries()) {
    const type = (event.payload?.["state_type"] ?? "") as StateType;
    const name = String(event.payload?.["state"] ?? type);
    if (type === undefined || isTerminal(type)) continue;
    // Before its time a run waits for nothing.
    const from = type === "Scheduled" ? Math.max(event.occurred, run.scheduled_time ?? 0) : event.occurred;
    const to = events[index + 1]?.occurred ?? endUs;
    const failed = WORKS.has(type) ? (ends.find((end) => end !== null && end > from && end < to) ?? to) : to;
    add({ type, name }, failed - from);
    add(waiting, to - failed);
  }
  return stretches;
}

/** Narrower stretches would be invisible. */
const SHARE_MIN = 0.004;

export function LifeStrip({ run, moves }: { run: Run; moves: readonly Event[] | null }): JSX.Element | null {
  if (run.start_time === null || run.start_time === undefined) return null;
  if (moves === null) return <div class="life-space" />;
  const ended = isTerminal(run.state.type);
  const endUs = ended ? (run.end_time ?? run.state.timestamp) : run.state.type === "Running" ? now.value * 1000 : nowUs();
  const stretches = stretchesOf(run, moves, endUs);
  const all = stretches.reduce((sum, { us }) => sum + us, 0);
  if (all <= 0) return <div class="life-space" />;
  const sum = (works: boolean) => stretches.reduce((total, stretch) => (stretch.works === works ? total + stretch.us : total), 0);
  const attempts = stretches.filter(({ works }) => works).length;
  return (
    <div class="life-space">
      <p class="row wrap meta dim life-words">
        <span>
          <b>{duration(all)}</b> {ended ? "from start to end" : "so far"}
        </span>
        <span>
          {duration(sum(true))} worked{attempts > 1 && ` in ${counted(attempts, "attempt")}`}
        </span>
        {sum(false) >= 1000 && <span>{duration(sum(false))} waited</span>}
      </p>
      <div class="life" aria-hidden="true">
        {stretches.map(({ token, word, us, works }, index) => (
          <i
            key={index}
            class={`s-${token} ${works ? "works" : ""}`}
            title={`${word}: ${duration(us)}`}
            style={{ flexGrow: Math.max(us / all, SHARE_MIN) }}
          />
        ))}
        {ended && <i class={`end s-${lookOf(run.state).token}`} />}
      </div>
    </div>
  );
}
