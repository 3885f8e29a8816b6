/** The only announcements of live changes to screen readers: failures only, at most one message in five seconds. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { RunsPage } from "#protocol/records/run";
import { ask, withQuery } from "../api/client.ts";
import { withMarksShown } from "../format/marks.ts";
import { nowUs } from "../format/now.ts";
import { counted } from "../format/number.ts";
import { lookOf } from "../state/look.ts";

const INTERVAL_MS = 5_000;
/** Enough to count those of five seconds; of more, this many are announced. */
const RUNS_MAX = 100;
const spoken = signal("");

export function Announcer(): JSX.Element {
  useEffect(() => {
    const look = lookForFailures();
    const timer = window.setInterval(() => document.hidden || void look().catch(() => undefined), INTERVAL_MS);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <div class="sr" aria-live="polite" data-live>
      {spoken.value}
    </div>
  );
}

/** Announces the runs that have failed since the last call. */
function lookForFailures(): () => Promise<void> {
  let sinceUs = nowUs() + INTERVAL_MS * 1000;
  const known = new Set<number>();
  return async () => {
    const untilUs = nowUs();
    // The end of a run may be stored a moment after its time.
    const query = { states: "Failed,Crashed", ended_after: sinceUs - INTERVAL_MS * 1000, limit: RUNS_MAX };
    const { items } = await ask<RunsPage>(withQuery("/api/runs", query));
    const failed = items.filter(({ id }) => !known.has(id));
    known.clear();
    for (const { id } of items) known.add(id);
    sinceUs = untilUs;
    const [first] = failed;
    if (first === undefined) return;
    const one = withMarksShown(`${first.flow_name}, ${first.name}: ${lookOf(first.state).word}`);
    spoken.value = failed.length === 1 ? one : `${counted(failed.length, "run")} went wrong`;
  };
}
