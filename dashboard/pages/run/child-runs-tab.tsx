/** The runs that a durable run has called, those that they have called, and so on: a tree that is read as it is opened. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Run } from "#protocol/records/run";
import { duration } from "../../format/duration.ts";
import { nowUs } from "../../format/now.ts";
import { counted } from "../../format/number.ts";
import { Empty } from "../../parts/notice.tsx";
import { RunLink, useChildRuns, useOtherRun } from "./child-runs.tsx";
import type { TabProps } from "./run-page.tsx";

/** Runs below one run; the others are in its list of waits. */
const SHOWN = 100;

export function Tab({ run }: TabProps): JSX.Element {
  const ids = useChildRuns(run);
  if (ids.length === 0)
    return <Empty title="It has called no run">A durable flow calls other flows with child() and childMap().</Empty>;
  return <Branch run={run} ids={ids} />;
}

function Branch({ run, ids }: { run: Run; ids: readonly number[] }): JSX.Element {
  return (
    <ul class="run-tree">
      {ids.slice(0, SHOWN).map((id) => (
        <Called key={id} id={id} />
      ))}
      {ids.length > SHOWN && (
        <li>
          <a class="underlined" href={`/runs/${run.id}?tab=waits`}>
            {counted(ids.length - SHOWN, "more run")}
          </a>
        </li>
      )}
    </ul>
  );
}

function Called({ id }: { id: number }): JSX.Element {
  const { data } = useOtherRun(id);
  return (
    <li>
      <RunLink id={id} />
      {data !== null && (
        <span class="dim">
          {" "}
          {data.flow_name}
          {data.start_time ? `, ${duration((data.end_time ?? nowUs()) - data.start_time)}` : ""}
        </span>
      )}
      {data?.lineage_id !== undefined && <Below run={data} />}
    </li>
  );
}

function Below({ run }: { run: Run }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        Runs that it called<span class="sr">: #{run.id}</span>
      </summary>
      {isOpen && <CalledRuns run={run} />}
    </details>
  );
}

function CalledRuns({ run }: { run: Run }): JSX.Element {
  const ids = useChildRuns(run);
  return ids.length === 0 ? <p class="dim">None.</p> : <Branch run={run} ids={ids} />;
}
