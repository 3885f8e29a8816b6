/** The overview: one sentence on health, problems and questions, the day as a strip, and the next fires. */
import type { JSX } from "preact";
import type { EventsPage } from "#protocol/records/event";
import type { RunCounts, RunsPage } from "#protocol/records/run";
import type { Stats } from "#protocol/records/stats";
import { withQuery } from "../../api/client.ts";
import { type Query, useQuery } from "../../api/query.ts";
import { now } from "../../format/now.ts";
import { count } from "../../format/number.ts";
import { PageTitle, Section } from "../../parts/layout.tsx";
import { useNarrow } from "../../parts/media.ts";
import { Failure, Loading } from "../../parts/notice.tsx";
import { useCodeProblems } from "../../records/code-problems.tsx";
import { inOrder, useFires } from "../../records/fires.ts";
import { useFlows } from "../../records/flows.ts";
import { useQueue } from "../../records/queue.ts";
import { scheduleText } from "../../records/schedule-words.ts";
import { collectNeeds, healthSentence, RATE_HOURS, type Sources } from "./needs.ts";
import { NeedsList } from "./needs-list.tsx";
import { NextFires } from "./next-fires.tsx";
import { RunningNow } from "./running-now.tsx";
import { stripBars, totalOf } from "./strip.ts";
import { StripChart, StripLegend, StripTable } from "./strip-chart.tsx";
import "./overview.css";

const MINUTE_MS = 60_000;
const DAY_US = 86_400_000_000;
const LISTED = 50;
const RUNNING_SHOWN = 8;
const FIRES_SHOWN = 10;
/** One fire a minute for the future hours of the strip. */
const FIRES_OF_A_SCHEDULE = 360;
const WIDE = { quarters: 1, width: 1208, perText: "per 15 min" };
const NARROW = { quarters: 4, width: 358, perText: "per hour" };
const LIVE = { live: { "run.updated": true } } as const;

function useSources() {
  const flows = useFlows();
  const late = useQuery<RunsPage>(`/api/runs?state_name=Late&limit=${LISTED}`, LIVE);
  const paused = useQuery<RunsPage>(`/api/runs?state_name=Paused&limit=${LISTED}`, LIVE);
  const minuteUs = Math.floor(now.value / MINUTE_MS) * MINUTE_MS * 1000;
  const lapsed = useQuery<EventsPage>(
    withQuery("/api/events", { name: "expectation.lapsed", after: minuteUs - DAY_US, limit: LISTED }),
    { live: { "expectation.lapsed": true } },
  );
  const counts = useQuery<RunCounts>("/api/runs/counts", LIVE);
  const queue = useQueue();
  const ended = useQuery<Stats>(`/api/stats?hours=${RATE_HOURS}`, { ...LIVE, everyMs: MINUTE_MS });
  const sources: Sources = {
    flows: flows.data ?? [],
    late: late.data?.items ?? [],
    paused: paused.data?.items ?? [],
    lapsed: lapsed.data?.items ?? [],
    queue,
    problems: useCodeProblems(),
    ended: ended.data?.flows ?? [],
  };
  const failed = [flows, late, paused, lapsed, counts, ended].find(({ error }) => error !== null) as Query<unknown> | undefined;
  const loaded = ended.data !== null && flows.data !== null && late.data !== null && paused.data !== null && counts.data !== null;
  return { sources, counts: counts.data?.states ?? {}, loaded, failed };
}

export function Page(): JSX.Element {
  const { sources, counts, loaded, failed } = useSources();
  const stats = useQuery<Stats>("/api/stats?hours=24", { ...LIVE, everyMs: MINUTE_MS });
  const fires = useFires(FIRES_OF_A_SCHEDULE);
  const running = useQuery<RunsPage>(`/api/runs?state_type=Running&sort=start_asc&limit=${RUNNING_SHOWN}`, LIVE);
  const needs = collectNeeds(sources);
  const runningCount = (counts["Running"] ?? 0) + (counts["Retrying"] ?? 0);
  const words = new Map(
    sources.flows.flatMap(({ schedules }) => schedules.map(({ id, schedule }) => [id, scheduleText(schedule)])),
  );
  const next = inOrder(fires.data ?? []).slice(0, FIRES_SHOWN);
  return (
    <>
      <PageTitle title={loaded ? healthSentence(sources, counts["Late"] ?? 0, counts["Paused"] ?? 0) : "Overview"} />
      <p class="sub">{stats.data === null ? "\u00a0" : <Ended stats={stats.data} calm={needs.length === 0} />}</p>
      <div class="overview-two">
        <Section title="Needs you" note={needs.length > 0 ? `${needs.length}, most urgent first` : undefined}>
          {failed?.error && <Failure what="Part of this" error={failed.error} again={failed.refresh} />}
          {loaded ? <NeedsList needs={needs} /> : failed === undefined && <Loading rows={4} />}
        </Section>
        <Section
          title="Running now"
          note={loaded ? count(runningCount) : undefined}
          actions={<All href="/runs?states=Running" />}
        >
          {running.error !== null && <Failure what="What runs" error={running.error} again={running.refresh} />}
          {running.data !== null && <RunningNow runs={running.data.items} />}
        </Section>
      </div>
      <Day stats={stats} fires={fires.data ?? []} running={runningCount} />
      <Section
        title="Next fires"
        note={next.length > 0 ? `the next ${next.length}` : undefined}
        actions={<All href="/schedules" text="calendar" />}
      >
        {fires.error !== null && <Failure what="The next fires" error={fires.error} again={fires.refresh} />}
        {fires.data !== null && <NextFires fires={next} words={words} />}
      </Section>
    </>
  );
}

function All({ href, text = "all" }: { href: string; text?: string }): JSX.Element {
  return (
    <a class="meta faint underlined" href={href}>
      {text}
    </a>
  );
}

function Ended({ stats, calm }: { stats: Stats; calm: boolean }): JSX.Element {
  const { completed, passed, wrong } = totalOf(stripBars(stats, [], 0, now.value * 1000, 1));
  const all = completed + passed + wrong;
  const calmly = calm ? "All is on time." : "Everything not listed here is on time.";
  if (all === 0) return <>No run ended in the last 24 h. {calmly}</>;
  const share = ((all - wrong) / all) * 100;
  // Rounded down, so that one failure among many never shows 100 %.
  const text = wrong === 0 ? "all" : `${(Math.floor(share * 10) / 10).toFixed(1)} %`;
  return (
    <>
      In the last 24 h <b>{count(all)}</b> {all === 1 ? "run" : "runs"} ended, <b>{text}</b> of them without error. {calmly}
    </>
  );
}

function Day({ stats, fires, running }: { stats: Query<Stats>; fires: Parameters<typeof stripBars>[1]; running: number }) {
  const shape = useNarrow() ? NARROW : WIDE;
  const nowUs = Math.floor(now.value / MINUTE_MS) * MINUTE_MS * 1000;
  const bars = stats.data === null ? [] : stripBars(stats.data, fires, running, nowUs, shape.quarters);
  return (
    <Section title="Last 24 hours, next 6" actions={bars.length > 0 && <StripLegend bars={bars} />}>
      {stats.error !== null && <Failure what="The statistics" error={stats.error} again={stats.refresh} />}
      {bars.length > 0 && (
        <>
          <StripChart bars={bars} nowUs={nowUs} width={shape.width} perText={shape.perText} />
          <StripTable bars={bars} />
        </>
      )}
    </Section>
  );
}
