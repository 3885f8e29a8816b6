/** The figures of the top bar: engines, running, queued, failed within an hour; the server counts all of them. */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import type { RunCounts } from "#protocol/records/run";
import type { ServerInfo } from "#protocol/records/server";
import { withQuery } from "../api/client.ts";
import { type Query, useQuery } from "../api/query.ts";
import { now } from "../format/now.ts";
import { count } from "../format/number.ts";
import { PAGES } from "../pages/pages.ts";
import { Glyph } from "../state/glyph.tsx";

const HOUR_US = 3_600_000_000;
const MINUTE_MS = 60_000;
/** Asked for instead of heard of: every change of every run would reach every page. */
const COUNTS_MS = 2_000;

/** An hour ago, to the minute: the query changes once a minute. */
const hourAgo = computed(() => Math.floor(now.value / MINUTE_MS) * MINUTE_MS * 1000 - HOUR_US);

export function useServerInfo(): Query<ServerInfo> {
  return useQuery<ServerInfo>("/api/server", { everyMs: COUNTS_MS });
}

export function Gauges({ server }: { server: ServerInfo | null }): JSX.Element {
  const all = useQuery<RunCounts>("/api/runs/counts", { everyMs: COUNTS_MS }).data;
  const since = hourAgo.value;
  const wrong = useQuery<RunCounts>(withQuery("/api/runs/counts", { states: "Failed,Crashed", ended_after: since }), {
    everyMs: COUNTS_MS,
  }).data;
  const running = (all?.states["Running"] ?? 0) + (all?.states["Retrying"] ?? 0);
  const busy = server?.engines.filter(({ current_run }) => current_run !== null).length ?? 0;
  const failed = wrong?.total ?? 0;
  const queuePage = "queue" in PAGES ? "/queue" : "/runs?states=Scheduled";
  return (
    <ul class="gauges">
      <Gauge name="Engines" href={queuePage} value={server === null ? "" : engineText(busy, server.engines.length)} />
      <Gauge name="Running" href="/runs?states=Running" value={all === null ? "" : count(running)} />
      <Gauge name="Queued" href={queuePage} value={server === null ? "" : count(server.queued)} />
      <li class={failed > 0 ? "bad s-failed" : ""}>
        <a href={withQuery("/runs", { states: "Failed,Crashed", ended: "1h" })}>
          <span class="what">
            {failed > 0 && <Glyph name="failed" size={12} />}
            <span>
              Failed<span class="wide-inline"> in 1 h</span>
            </span>
          </span>
          <b>{wrong === null ? "" : count(failed)}</b>
        </a>
      </li>
    </ul>
  );
}

function engineText(busy: number, all: number): string {
  return all === 0 ? "none" : `${busy} of ${all} busy`;
}

function Gauge({ name, href, value }: { name: string; href: string; value: string }): JSX.Element {
  return (
    <li>
      <a href={href}>
        <span class="what">{name}</span>
        <b>{value}</b>
      </a>
    </li>
  );
}
