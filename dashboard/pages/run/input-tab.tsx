/** The input of a run, its parameters and the answers of people, and its result. */
import type { JSX } from "preact";
import type { RunInput } from "#protocol/records/run";
import { lostResultBytes, lostResultReason } from "#protocol/records/state";
import { useQuery } from "../../api/query.ts";
import { bytes } from "../../format/number.ts";
import { Section } from "../../parts/layout.tsx";
import type { TabProps } from "./run-page.tsx";

function Json({ value }: { value: unknown }): JSX.Element {
  return <pre class="sunk">{JSON.stringify(value, null, 2)}</pre>;
}

export function Tab({ run }: TabProps): JSX.Element {
  const answers = useQuery<RunInput>(`/api/runs/${run.id}/input`, {
    run: run.id,
    live: { "run.updated": true },
  }).data;
  const given = answers?.inputs ?? [];
  const result = run.state.details?.["result"];
  const lostBytes = lostResultBytes(run.state);
  const lost = lostResultReason(run.state);
  return (
    <div class="stack">
      <Section title="Parameters">
        <Json value={run.parameters ?? {}} />
      </Section>
      {given.length > 0 && (
        <Section title="Answers" note="in the order given">
          {given.map((answer, index) => (
            <Json key={index} value={answer} />
          ))}
        </Section>
      )}
      {lostBytes !== null && (
        <Section title="Result">
          <p>{`It is not kept: ${bytes(lostBytes)} as JSON is more than is stored. The log of the run names the limit.`}</p>
        </Section>
      )}
      {lost !== null && (
        <Section title="Result">
          <p>{`It is not kept: ${lost}.`}</p>
        </Section>
      )}
      {result !== undefined && (
        <Section title="Result">
          <Json value={result} />
        </Section>
      )}
    </div>
  );
}
