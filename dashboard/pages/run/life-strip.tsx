/** The use of a run's time, from its due time to its published end: waits in outline, work filled. */
import type { JSX } from "preact";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import type { RunTiming, StageOfRun } from "#protocol/records/timing";
import { useQuery } from "../../api/query.ts";
import { duration } from "../../format/duration.ts";
import { withMarksShown } from "../../format/marks.ts";
import { now, nowUs } from "../../format/now.ts";
import { counted } from "../../format/number.ts";
import { STAGE_LOOKS, stageWords } from "../../records/stages.ts";
import { lookOf } from "../../state/look.ts";

/** Narrower stretches would be invisible. */
const SHARE_MIN = 0.004;

export function LifeStrip({ run }: { run: Run }): JSX.Element | null {
  const { data } = useQuery<RunTiming>(run.start_time === null ? null : `/api/runs/${run.id}/timing`, {
    run: run.id,
    live: { "run.updated": true },
  });
  if (run.start_time === null || run.start_time === undefined) return null;
  if (data === null) return <div class="life-space" />;
  const ended = isTerminal(run.state.type);
  const endUs = run.state.type === "Running" ? now.value * 1000 : nowUs();
  // Before its time a run waits for nothing.
  const stages = data.stages
    .filter(({ stage }) => stage !== "not_due")
    .map((each) => ({ ...each, us: each.to === null ? Math.max(0, endUs - each.from) : each.us }));
  const all = stages.reduce((sum, { us }) => sum + us, 0);
  if (all <= 0) return <div class="life-space" />;
  const worked = stages.filter(({ stage }) => stage === "running");
  const attempts = new Set(worked.map(({ attempt }) => attempt)).size;
  return (
    <div class="life-space">
      <p class="row wrap meta dim life-words">
        <span>
          <b>{duration(all)}</b> {ended ? "from creation to end" : "so far"}
        </span>
        {sumsOf(stages).map(([words, us]) => (
          <span key={words}>
            {duration(us)} {withMarksShown(words)}
            {words === STAGE_LOOKS.running.word && attempts > 1 && ` in ${counted(attempts, "attempt")}`}
          </span>
        ))}
      </p>
      <div class="life" aria-hidden="true">
        {stages.map((each) => (
          <i
            key={each.from}
            class={`s-${STAGE_LOOKS[each.stage].token} ${each.stage === "running" ? "works" : ""}`}
            title={`${withMarksShown(stageWords(each))}: ${duration(each.us)}`}
            style={{ flexGrow: Math.max(each.us / all, SHARE_MIN) }}
          />
        ))}
        {ended && <i class={`end s-${lookOf(run.state).token}`} />}
      </div>
    </div>
  );
}

/** Stages of the same words together, in the order of the first of each. */
function sumsOf(stages: readonly StageOfRun[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const each of stages) sums.set(stageWords(each), (sums.get(stageWords(each)) ?? 0) + each.us);
  return [...sums];
}
