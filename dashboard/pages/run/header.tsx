/** The head of a run: title and state, one sentence on the cause, facts, and the use of its time. */
import type { JSX } from "preact";
import type { RunExplanation } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { useQuery } from "../../api/query.ts";
import { withMarksShown } from "../../format/marks.ts";
import { clockTime, fullTime, sameDay, shortTime } from "../../format/time.ts";
import { offline } from "../../live/link.ts";
import { Facts, Key, PageTitle, RunNumber } from "../../parts/layout.tsx";
import { triesOf } from "../../records/attempts.ts";
import { cancelRuns, canWake, deleteRuns, isActive, wake } from "../../records/run-actions.ts";
import { creatorAddress, creatorOf } from "../../records/run-parts.tsx";
import { navigate, withParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { lookOf } from "../../state/look.ts";
import { StateMark } from "../../state/state-mark.tsx";
import { PAGES } from "../pages.ts";
import { ChildRuns, RunLink, useChildRuns } from "./child-runs.tsx";
import { LifeStrip } from "./life-strip.tsx";
import { type Neighbours, neighbourAddress } from "./neighbours.ts";
import { PastWaits } from "./past-waits.tsx";
import { askToRerun } from "./rerun-dialog.tsx";

interface HeaderProps {
  run: Run;
  neighbours: Neighbours;
}

export function RunHeader({ run, neighbours }: HeaderProps): JSX.Element {
  const children = useChildRuns(run);
  return (
    <>
      <nav class="crumb" aria-label="Place">
        <a href="/runs">Runs</a>
        <span aria-hidden="true">/</span>
        <a href={`/runs?project=${encodeURIComponent(run.project)}`}>{run.project}</a>
        <span aria-hidden="true">/</span>
        <a href={"flow" in PAGES ? `/flows/${run.flow_id}` : `/runs?flow=${encodeURIComponent(run.flow_name)}`}>
          {run.flow_name}
        </a>
      </nav>
      <PageTitle
        title={run.name}
        beside={
          <>
            <StateMark state={run.state} big />
            <span class="faint mono">
              <RunNumber id={run.id} />
            </span>
          </>
        }
        actions={<Actions run={run} neighbours={neighbours} />}
      />
      <Cause run={run} />
      <Facts facts={factsOf(run, children)} />
      <LifeStrip run={run} />
      <PastWaits run={run} />
    </>
  );
}

function Actions({ run, neighbours }: { run: Run; neighbours: Neighbours }): JSX.Element {
  const remove = () => {
    deleteRuns([run]);
    navigate("/runs");
  };
  return (
    <>
      {neighbours.previous !== null && (
        <a class="button quiet wide-only" href={neighbourAddress(neighbours.previous)}>
          <Key name="[" /> previous
        </a>
      )}
      {neighbours.next !== null && (
        <a class="button quiet wide-only" href={neighbourAddress(neighbours.next)}>
          next <Key name="]" />
        </a>
      )}
      {isTerminal(run.state.type) && (
        <button type="button" class="button quiet" disabled={offline.value} onClick={remove}>
          Delete
        </button>
      )}
      {canWake(run) && (
        <button type="button" class="button" disabled={offline.value} onClick={() => wake(run)}>
          Wake now
        </button>
      )}
      {isActive(run) && (
        <button type="button" class="button" disabled={offline.value} onClick={() => cancelRuns([run])}>
          {"Cancel\u2026"}
        </button>
      )}
      {isTerminal(run.state.type) && (
        <button type="button" class="button primary" disabled={offline.value} onClick={() => askToRerun(run)}>
          <Glyph name="rerun" />
          {"Run again\u2026"}
        </button>
      )}
    </>
  );
}

/** Why the run failed, or why it does not progress; nothing for a healthy run. */
function Cause({ run }: { run: Run }): JSX.Element | null {
  const { state } = run;
  if (state.type === "Failed" || state.type === "Crashed") {
    const [first = "", ...rest] = (state.message ?? "").split("\n");
    const traceback = state.details?.["traceback"];
    const tried = triesOf(run);
    return (
      <div class={`banner cause s-${lookOf(state).token}`}>
        <div>
          <b>{first === "" ? `${lookOf(state).word} without a message` : first}</b>{" "}
          {rest.length > 0 && <span class="dim">{rest.join(" ")}</span>}
          {tried > 1 && <span class="dim"> On attempt {tried}.</span>}
          {typeof traceback === "string" && traceback !== "" && (
            <details>
              <summary>Where it was thrown</summary>
              <pre>{traceback}</pre>
            </details>
          )}
        </div>
        <a class="push underlined" href={withParams({ tab: "logs", level: null, find: null })}>
          Show the log
        </a>
      </div>
    );
  }
  if (state.type === "Scheduled") return <Waits run={run} />;
  if (state.message && state.type !== "Paused") return <p class="sub">{state.message}</p>;
  return null;
}

const EXPLAIN_MS = 3_000;

function Waits({ run }: { run: Run }): JSX.Element | null {
  const { data } = useQuery<RunExplanation>(`/api/runs/${run.id}/explain`, {
    run: run.id,
    live: { "run.updated": true },
    everyMs: EXPLAIN_MS,
  });
  const reason = data?.reason ?? null;
  if (reason === null) return run.state.message ? <p class="sub">{run.state.message}</p> : null;
  return (
    <div class={`banner s-${lookOf(run.state).token}`}>
      <div>
        <b>{`${withMarksShown(reason.text).charAt(0).toUpperCase()}${withMarksShown(reason.text).slice(1)}.`}</b>
        {data?.place !== null && data?.place !== undefined && <span class="dim"> It is number {data.place} in line.</span>}
        {data !== null && data.holders.length > 0 && (
          <span class="dim">
            {" "}
            Held by{" "}
            {data.holders.slice(0, 5).map(({ run_id, run_name }, index) => (
              <>
                {index > 0 && ", "}
                <a class="underlined" href={`/runs/${run_id}`}>
                  {run_name || `#${run_id}`}
                </a>
              </>
            ))}
            .
          </span>
        )}
      </div>
    </div>
  );
}

function factsOf(run: Run, children: readonly number[]): Parameters<typeof Facts>[0]["facts"] {
  const address = creatorAddress(run);
  const maker = creatorOf(run);
  const ended = run.end_time ?? null;
  const began = run.start_time ?? null;
  return [
    run.scheduled_time ? ["Scheduled for", fullTime(run.scheduled_time)] : ["Created", fullTime(run.created_at)],
    began === null
      ? null
      : [
          ended === null ? "Started" : "Started, ended",
          ended === null
            ? shortTime(began)
            : `${shortTime(began)}, ${sameDay(began, ended) ? clockTime(ended) : shortTime(ended)}`,
        ],
    triesOf(run) > 1 ? ["Attempt", String(triesOf(run))] : null,
    run.crash_count > 0 ? ["Crashes", String(run.crash_count)] : null,
    maker === "" ? null : ["Created by", address === null ? maker : <a href={address}>{maker}</a>],
    run.parent_run_id ? ["Again of", <a href={`/runs/${run.parent_run_id}`}>#{run.parent_run_id}</a>] : null,
    run.caller_run_id ? ["Called by", <RunLink id={run.caller_run_id} />] : null,
    children.length > 0 ? ["Child runs", <ChildRuns ids={children} />] : null,
    run.engine_pid ? ["Engine", `pid ${run.engine_pid}`] : null,
    run.tags?.length ? ["Tags", <TagLinks tags={run.tags} />] : null,
    Object.keys(run.parameters ?? {}).length > 0
      ? [
          "Parameters",
          <code class="mono cut parameters" title={JSON.stringify(run.parameters, null, 2)}>
            {JSON.stringify(run.parameters)}
          </code>,
        ]
      : null,
  ];
}

function TagLinks({ tags }: { tags: readonly string[] }): JSX.Element {
  return (
    <>
      {tags.map((tag, index) => (
        <>
          {index > 0 && ", "}
          <a href={`/runs?tag=${encodeURIComponent(tag)}`}>{tag}</a>
        </>
      ))}
    </>
  );
}
