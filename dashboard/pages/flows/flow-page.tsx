/** One flow: its condition, how to run it, its fires, and its connections. */

import type { ComponentChildren, JSX } from "preact";
import type { BackfillStatus } from "#protocol/records/backfill";
import type { FlowSummary } from "#protocol/records/flow";
import type { Run, RunCounts, RunsPage } from "#protocol/records/run";
import { ask, messageOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { withMarksShown } from "../../format/marks.ts";
import { count, counted } from "../../format/number.ts";
import { fullTime, plannedTime, shortTime } from "../../format/time.ts";
import { askBack } from "../../parts/dialog.tsx";
import { Facts, PageTitle, Section } from "../../parts/layout.tsx";
import { Banner, Empty, Failure, Loading } from "../../parts/notice.tsx";
import { showToast } from "../../parts/toast.tsx";
import { BackfillLine } from "../../records/backfill-line.tsx";
import { useFlows } from "../../records/flows.ts";
import { DurationBar } from "../../records/run-parts.tsx";
import { pausedText, scheduleText } from "../../records/schedule-words.ts";
import { useTypical } from "../../records/typical.ts";
import { navigate } from "../../router/router.ts";
import { StateMark } from "../../state/state-mark.tsx";
import type { PageProps } from "../pages.ts";
import { Timing } from "./flow-timing.tsx";
import { Standing } from "./flows-page.tsx";
import { RunForm } from "./run-form.tsx";
import "./flows.css";
import { offline } from "../../live/link.ts";

const RUNS_SHOWN = 12;

export function Page({ id }: PageProps): JSX.Element {
  const flows = useFlows();
  const flow = flows.data?.find((each) => each.id === id);
  if (flows.data === null)
    return flows.error === null ? <Loading /> : <Failure what="The flow" error={flows.error} again={flows.refresh} />;
  if (flow === undefined)
    return (
      <Empty title={`There is no flow ${id}`}>
        It was deleted. <a href="/flows">All flows</a>
      </Empty>
    );
  return <Loaded key={flow.id} flow={flow} flows={flows.data} />;
}

function Loaded({ flow, flows }: { flow: FlowSummary; flows: readonly FlowSummary[] }): JSX.Element {
  return (
    <>
      <nav class="crumb" aria-label="Place">
        <a href="/flows">Flows</a>
        <span aria-hidden="true">/</span>
        <span>{flow.project}</span>
      </nav>
      <PageTitle title={flow.name} beside={<Standing flow={flow} brief />} actions={<Actions flow={flow} />} />
      {flow.description && <p class="sub">{flow.description}</p>}
      {flow.error !== null && (
        <div class="banner s-failed">
          <pre>{flow.error}</pre>
        </div>
      )}
      {flow.schedule_error !== null && (
        <Banner token="late">
          <b>A schedule that its code declares is wrong and does not fire.</b> <bdi>{flow.schedule_error}</bdi>. The flow can be
          run by hand.
        </Banner>
      )}
      <Facts facts={factsOf(flow, flows)} />
      <div class="flow-two">
        <div>
          <Runs flow={flow} />
          <Timing flow={flow} />
          <Schedules flow={flow} />
          <Backfills flow={flow} />
        </div>
        <RunForm flow={flow} />
      </div>
    </>
  );
}

async function act(path: string, method: "POST" | "DELETE", done: string): Promise<boolean> {
  try {
    await ask(path, { method });
    showToast(done);
    return true;
  } catch (cause) {
    showToast(`Not done: ${messageOf(cause)}.`);
    return false;
  }
}

function Actions({ flow }: { flow: FlowSummary }): JSX.Element {
  const active = flow.schedules.filter((schedule) => schedule.active).length;
  const remove = () =>
    askBack({
      title: `Delete ${flow.name}?`,
      body: "Its runs, logs, artifacts and schedules go with it. This cannot be undone. Code that is served registers it again.",
      confirm: "Delete 1 flow",
      keep: "Keep it",
      act: () => void act(`/api/flows/${flow.id}`, "DELETE", `${flow.name} deleted.`).then((done) => done && navigate("/flows")),
    });
  return (
    <>
      {flow.schedules.length > 0 && (
        <button
          type="button"
          class="button"
          disabled={offline.value}
          onClick={() =>
            void (active > 0
              ? act(`/api/flows/${flow.id}/pause`, "POST", "All its schedules are paused. Runs that exist go on.")
              : act(`/api/flows/${flow.id}/resume`, "POST", "All its schedules fire again."))
          }
        >
          {active > 0 ? `Pause ${counted(active, "schedule")}` : `Resume ${counted(flow.schedules.length, "schedule")}`}
        </button>
      )}
      <a class="button" href={`/schedules?new=${flow.id}`}>
        {"New schedule\u2026"}
      </a>
      <a class="button" href={`/backfills?flow=${flow.id}`}>
        {"Backfill\u2026"}
      </a>
      {flow.live ? (
        <span class="meta faint">It is served now, so it cannot be deleted.</span>
      ) : (
        <button type="button" class="button danger" disabled={offline.value} onClick={remove}>
          {"Delete\u2026"}
        </button>
      )}
    </>
  );
}

function FlowLinks({
  names,
  flow,
  flows,
}: {
  names: readonly string[];
  flow: FlowSummary;
  flows: readonly FlowSummary[];
}): JSX.Element {
  return (
    <>
      {names.map((name, index) => {
        const found = flows.find((each) => each.project === flow.project && each.name === name);
        return (
          <span key={name}>
            {index > 0 && ", "}
            {found === undefined ? name : <a href={`/flows/${found.id}`}>{name}</a>}
          </span>
        );
      })}
    </>
  );
}

const WORDS: readonly (readonly [option: string, word: string])[] = [
  ["retries", "Retries"],
  ["crash_retries", "Crash retries"],
  ["timeout_seconds", "Time limit, s"],
  ["max_concurrent", "At most at once"],
  ["on_overlap", "On overlap"],
  ["priority", "Priority"],
];

function factsOf(flow: FlowSummary, flows: readonly FlowSummary[]): (readonly [string, ComponentChildren] | null)[] {
  const options = (flow.options ?? {}) as Record<string, unknown>;
  const resources = Object.entries((options["resources"] ?? {}) as Record<string, number>);
  const disable = options["disable_after"] as readonly number[] | null | undefined;
  return [
    ["Module", <span class="mono">{flow.module}</span>],
    flow.upstreams.length > 0
      ? [
          flow.batch_key === null ? "Runs after" : `Runs after, by ${flow.batch_key}`,
          <FlowLinks names={flow.upstreams} {...{ flow, flows }} />,
        ]
      : null,
    flow.triggers.length > 0 ? ["Then runs", <FlowLinks names={flow.triggers} {...{ flow, flows }} />] : null,
    ...WORDS.map(([name, word]) => {
      const value = options[name];
      return value === undefined || value === null || value === 0 ? null : ([word, String(value)] as const);
    }),
    resources.length > 0
      ? ["Resources", resources.map(([name, amount]) => `${withMarksShown(name)} ${amount}`).join(", ")]
      : null,
    disable ? ["Paused after", `${disable[0]} failures in ${disable[1]} s, for ${disable[2]} s`] : null,
    flow.tags.length > 0 ? ["Tags", flow.tags.join(", ")] : null,
    ["Seen", fullTime(flow.last_seen_at)],
  ];
}

function Runs({ flow }: { flow: FlowSummary }): JSX.Element {
  const live = { "run.updated": (run: Run | { deleted: true }) => "deleted" in run || run.flow_id === flow.id };
  const runs = useQuery<RunsPage>(`/api/runs?flow_id=${flow.id}&sort=activity&limit=${RUNS_SHOWN}`, { live });
  const counts = useQuery<RunCounts>(`/api/runs/counts?flow_id=${flow.id}`, { live });
  const typical = useTypical();
  const all = (
    <a class="meta faint underlined" href={`/runs?flow_id=${flow.id}`}>
      all
    </a>
  );
  return (
    <Section title="Runs" note={counts.data === null ? undefined : count(counts.data.total)} actions={all}>
      {runs.error !== null && <Failure what="Its runs" error={runs.error} again={runs.refresh} />}
      {runs.data?.items.length === 0 && <p class="calm dim">It has not run yet.</p>}
      <ul class="rows flow-runs">
        {runs.data?.items.map((run) => (
          <li key={run.id}>
            <StateMark state={run.state} />
            <a class="cut name" href={`/runs/${run.id}`} title={run.name}>
              {run.name}
            </a>
            <span class="num dim">{run.start_time === null ? "not yet" : shortTime(run.start_time)}</span>
            <DurationBar run={run} typical={typical.value.get(run.flow_id) ?? null} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Schedules({ flow }: { flow: FlowSummary }): JSX.Element {
  return (
    <Section title="Schedules" note={flow.schedules.length > 0 ? count(flow.schedules.length) : undefined}>
      {flow.schedules.length === 0 && <p class="calm dim">None: it runs when it is started, or after another flow.</p>}
      <ul class="rows flow-schedules">
        {flow.schedules.map((schedule) => (
          <li key={schedule.id}>
            <a class="cut name" href={`/schedules?schedule=${schedule.id}`}>
              {scheduleText(schedule.schedule)}
            </a>
            <span class="cut dim">{pausedText(schedule) ?? `from ${schedule.source}`}</span>
            <span class="num dim">{schedule.next_fire === null ? "" : plannedTime(schedule.next_fire)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Backfills({ flow }: { flow: FlowSummary }): JSX.Element {
  const backfills = useQuery<BackfillStatus[]>(`/api/flows/${flow.id}/backfills`, {
    live: {
      "backfill.created": true,
      "backfill.updated": true,
      "run.updated": (run) => !("deleted" in run) && run.flow_id === flow.id,
    },
  });
  return (
    <Section title="Backfills" note={backfills.data?.length ? count(backfills.data.length) : undefined}>
      {backfills.error !== null && <Failure what="Its backfills" error={backfills.error} again={backfills.refresh} />}
      {backfills.data?.length === 0 && <p class="calm dim">None.</p>}
      <ul class="rows">
        {backfills.data?.toReversed().map((backfill) => (
          <BackfillLine key={backfill.id} backfill={backfill} name={backfill.parameter} />
        ))}
      </ul>
    </Section>
  );
}
