/** Where the time of the newest runs of a flow went, by stage. */
import type { JSX } from "preact";
import type { FlowSummary } from "#protocol/records/flow";
import type { FlowTiming } from "#protocol/records/timing";
import { useQuery } from "../../api/query.ts";
import { duration } from "../../format/duration.ts";
import { counted } from "../../format/number.ts";
import { Section } from "../../parts/layout.tsx";
import { Failure } from "../../parts/notice.tsx";
import { STAGE_LOOKS } from "../../records/stages.ts";

export function Timing({ flow }: { flow: FlowSummary }): JSX.Element | null {
  const timing = useQuery<FlowTiming>(`/api/flows/${flow.id}/timing`, {
    live: { "run.updated": (run) => "deleted" in run || run.flow_id === flow.id },
  });
  if (timing.error !== null) return <Failure what="The use of its time" error={timing.error} again={timing.refresh} />;
  if (timing.data === null || timing.data.runs === 0) return null;
  const { runs, stages, total_p50_us, total_p95_us } = timing.data;
  const longest = Math.max(1, ...stages.map(({ p95_us }) => p95_us));
  return (
    <Section title="Where the time goes" note={`the newest ${counted(runs, "run")}`}>
      <table class="stages">
        <thead>
          <tr>
            <th scope="col">Stage</th>
            <td />
            <th scope="col">Median</th>
            <th scope="col">95 %</th>
          </tr>
        </thead>
        <tbody>
          {stages.map(({ stage, p50_us, p95_us }) => (
            <tr key={stage}>
              <th scope="row">{STAGE_LOOKS[stage].word}</th>
              <td>
                <span class={`meter s-${STAGE_LOOKS[stage].token}`} aria-hidden="true">
                  <i style={{ width: `${(p50_us / longest) * 100}%` }} />
                  <u style={{ left: `${(p95_us / longest) * 100}%` }} />
                </span>
              </td>
              <td class="num">{duration(p50_us)}</td>
              <td class="num">{duration(p95_us)}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">from creation to end</th>
            <td />
            <td class="num">{duration(total_p50_us)}</td>
            <td class="num">{duration(total_p95_us)}</td>
          </tr>
        </tbody>
      </table>
    </Section>
  );
}
