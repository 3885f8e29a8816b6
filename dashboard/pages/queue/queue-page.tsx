/** Queue and engines: waiting runs with their reasons, holders of resources, and the work of the engines. */
import type { JSX } from "preact";
import type { Queue, QueueReason } from "#protocol/records/queue";
import type { Run, RunsPage } from "#protocol/records/run";
import type { ServerInfo, Settings } from "#protocol/records/server";
import { useQuery } from "../../api/query.ts";
import { tickingDuration } from "../../format/duration.ts";
import { now } from "../../format/now.ts";
import { count, counted } from "../../format/number.ts";
import { PageTitle, Section } from "../../parts/layout.tsx";
import { Banner, Empty, Failure, Loading } from "../../parts/notice.tsx";
import { useQueueQuery } from "../../records/queue.ts";
import { resourceWords } from "../../records/why.ts";
import { Glyph } from "../../state/glyph.tsx";
import { EnginesTable } from "./engines-table.tsx";
import { Reasons } from "./reasons.tsx";
import { Resources } from "./resources.tsx";
import { WaitingTable } from "./waiting-table.tsx";
import "./queue.css";

/** The stream does not report engines. */
const SERVER_MS = 5_000;
const STARTED_LISTED = 500;

/** Runs held by engines, by id. */
function useStarted(): ReadonlyMap<number, Run> {
  const path = `/api/runs?states=Pending,Running,Cancelling&limit=${STARTED_LISTED}`;
  const { data } = useQuery<RunsPage>(path, { live: { "run.updated": true } });
  return new Map((data?.items ?? []).map((run) => [run.id, run]));
}

export function Page(): JSX.Element {
  const queue = useQueueQuery();
  const server = useQuery<ServerInfo>("/api/server", { live: { "run.updated": true }, everyMs: SERVER_MS });
  const settings = useQuery<Settings>("/api/settings", { live: { "flow.registered": true } });
  const started = useStarted();
  return (
    <>
      <PageTitle title={queue.data === null ? "Queue and engines" : sentenceOf(queue.data.reasons)} />
      <p class="sub">
        {queue.data !== null && oldestText(queue.data.reasons)} {server.data !== null && enginesText(server.data)}
      </p>
      {queue.error !== null && <Failure what="The queue" error={queue.error} again={queue.refresh} />}
      {settings.data?.engine_saturation_risk === true && <Saturation settings={settings.data} />}
      {queue.data === null && queue.error === null && <Loading rows={8} />}
      {queue.data !== null && <Waiting queue={queue.data} started={started} />}
      <Section title="Engines" note={server.data === null ? undefined : "runs share an engine as long as they wait"}>
        {server.error !== null && <Failure what="The engines" error={server.error} again={server.refresh} />}
        {server.data?.engines.length === 0 && (
          <Empty title="No engine is up">The server starts one when a run is due and its module can be started from here.</Empty>
        )}
        {server.data !== null && server.data.engines.length > 0 && (
          <EnginesTable engines={server.data.engines} polled={queue.data?.engines ?? []} started={started} />
        )}
      </Section>
    </>
  );
}

function Waiting({ queue, started }: { queue: Queue; started: ReadonlyMap<number, Run> }): JSX.Element {
  return (
    <>
      <div class="queue-two">
        <Section title="Why runs wait" note={count(queue.waiting)}>
          <Reasons queue={queue} />
        </Section>
        <Section title="Resources" note={queue.resources.length > 0 ? "one cell is one unit" : undefined}>
          <Resources resources={queue.resources} started={started} />
        </Section>
      </div>
      <WaitingTable queue={queue} />
    </>
  );
}

/** Reasons that hold up due runs: a run waiting for its own time is not held up. */
function heldUp(reasons: readonly QueueReason[]): QueueReason[] {
  return reasons.filter(({ code }) => code !== "not_due");
}

function sentenceOf(reasons: readonly QueueReason[]): string {
  const held = heldUp(reasons);
  const all = held.reduce((sum, reason) => sum + reason.count, 0);
  const [first] = held;
  if (first === undefined) return "Nothing is held up.";
  const what = first.code === "resource" ? resourceWords(first.object ?? "") : "an engine";
  const waits = `${counted(all, "run")} ${all === 1 ? "waits" : "wait"}`;
  return all === first.count ? `${waits} for ${what}.` : `${waits}, ${count(first.count)} of them for ${what}.`;
}

function oldestText(reasons: readonly QueueReason[]): JSX.Element | null {
  const since = Math.min(...heldUp(reasons).map((reason) => reason.since));
  if (!Number.isFinite(since)) return null;
  return (
    <>
      The oldest has waited <b class="ink">{tickingDuration(now.value * 1000 - since)}</b>.
    </>
  );
}

function enginesText({ engines }: ServerInfo): string {
  const busy = engines.filter(({ current_run }) => current_run !== null).length;
  if (engines.length === 0) return "No engine is up.";
  if (busy === engines.length) return engines.length === 1 ? "The one engine is busy." : `All ${count(busy)} engines are busy.`;
  return `${count(busy)} of ${counted(engines.length, "engine")} ${busy === 1 ? "is" : "are"} busy.`;
}

function Saturation({ settings }: { settings: Settings }): JSX.Element {
  return (
    <Banner
      token="late"
      actions={
        <a class="button small" href="/settings">
          Open settings
        </a>
      }
    >
      <Glyph name="full" size={16} /> <b>The engine pool may saturate.</b>{" "}
      <span class="dim">
        {settings.saturation_flows.join(", ")}
        {settings.saturation_reason && `: ${settings.saturation_reason}`}.
      </span>
    </Banner>
  );
}
