/** The only announcements of live changes to screen readers: failures only, at most one message in five seconds. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { withMarksShown } from "../format/marks.ts";
import { counted } from "../format/number.ts";
import { lookOf } from "../state/look.ts";
import { onLive } from "./link.ts";
import { isDeleted } from "./messages.ts";

const INTERVAL_MS = 5_000;
const spoken = signal("");

export function Announcer(): JSX.Element {
  useEffect(() => {
    const waiting: string[] = [];
    let timer = 0;
    const speak = () => {
      timer = 0;
      if (waiting.length === 0) return;
      spoken.value = waiting.length === 1 ? (waiting[0] ?? "") : `${counted(waiting.length, "run")} went wrong`;
      waiting.length = 0;
      timer = window.setTimeout(speak, INTERVAL_MS);
    };
    const end = onLive("run.updated", (run) => {
      if (isDeleted(run) || (run.state.type !== "Failed" && run.state.type !== "Crashed")) return;
      waiting.push(withMarksShown(`${run.flow_name}, ${run.name}: ${lookOf(run.state).word}`));
      if (timer === 0) speak();
    });
    return () => {
      end();
      window.clearTimeout(timer);
    };
  }, []);
  return (
    <div class="sr" aria-live="polite" data-live>
      {spoken.value}
    </div>
  );
}
