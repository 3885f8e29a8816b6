/** The runs that a durable run has called, as links with their states. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Wait } from "#protocol/records/durable";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { type Query, useQuery } from "../../api/query.ts";
import { withParams } from "../../router/router.ts";
import { lookOf } from "../../state/look.ts";
import { StateGlyph } from "../../state/state-mark.tsx";

/** Waits that are searched for child runs: those of the first page of the tab "Waits". */
const SEARCHED = 500;

/** The stream of a page of a run brings no other run. */
const CALLED_MS = 3_000;

/** Links in the head of the page; the others are in the tab "Waits". */
const LINKED = 8;

/** Ids of the child runs in the order of their calls. A child that crashed is represented by its newest rerun. */
export function useChildRuns(run: Run): number[] {
  const path = run.lineage_id === undefined ? null : `/api/runs/${run.id}/waits?limit=${SEARCHED}`;
  const { data } = useQuery<{ items: Wait[] }>(path, {
    run: run.id,
    live: { "run.updated": true },
    ...(isTerminal(run.state.type) ? {} : { everyMs: CALLED_MS }),
  });
  return childRunsOf(data?.items ?? []);
}

/** The child runs that these waits are for, each once. */
export function childRunsOf(waits: readonly Pick<Wait, "child_run_id">[]): number[] {
  return [...new Set(waits.flatMap(({ child_run_id }) => child_run_id ?? []))];
}

export function ChildRuns({ ids }: { ids: readonly number[] }): JSX.Element {
  const others = ids.length - LINKED;
  return (
    <>
      {ids.slice(0, LINKED).map((id, index) => (
        <span key={id}>
          {index > 0 && ", "}
          <RunLink id={id} />
        </span>
      ))}
      {others > 0 && <a href={withParams({ tab: "waits" })}>{` and ${others} more`}</a>}
    </>
  );
}

/** Another run than that of the page, fetched again until it has ended. */
export function useOtherRun(id: number): Query<Run> {
  const ended = useSignal(false);
  const query = useQuery<Run>(`/api/runs/${id}`, ended.value ? {} : { everyMs: CALLED_MS });
  ended.value = query.data !== null && isTerminal(query.data.state.type);
  return query;
}

/** A link to a run, with its state and name once they are read. */
export function RunLink({ id }: { id: number }): JSX.Element {
  const { data } = useOtherRun(id);
  return (
    <>
      {data !== null && <StateGlyph look={lookOf(data.state)} />}{" "}
      <a href={`/runs/${id}`}>{data === null ? `#${id}` : `${data.name} #${id}`}</a>
    </>
  );
}
