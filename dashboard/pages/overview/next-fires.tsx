/** The next fires of all schedules. */
import type { JSX } from "preact";
import { roughDuration } from "../../format/duration.ts";
import { nowUs } from "../../format/now.ts";
import { day, fullTime, minuteTime, sameDay } from "../../format/time.ts";
import type { Fire } from "../../records/fires.ts";
import { Glyph } from "../../state/glyph.tsx";

export function NextFires({ fires, words }: { fires: readonly Fire[]; words: ReadonlyMap<number, string> }): JSX.Element {
  if (fires.length === 0) return <p class="calm dim">No schedule fires. Flows run when they are started.</p>;
  return (
    <ol class="fires rows">
      {fires.map((fire) => (
        <FireRow key={`${fire.of.schedule_id} ${fire.time}`} fire={fire} words={words.get(fire.of.schedule_id) ?? ""} />
      ))}
    </ol>
  );
}

function FireRow({ fire: { time, of, skippedBy, hasRun }, words }: { fire: Fire; words: string }): JSX.Element {
  const glyph = skippedBy !== null ? "skipped-fire" : hasRun ? "scheduled" : "projected";
  const when = sameDay(time, nowUs()) ? `in ${roughDuration(time - nowUs())}` : day(time);
  const note = skippedBy === null ? words : `skipped in the ${skippedBy === "ui" ? "dashboard" : "API"}`;
  return (
    <li class={`s-scheduled ${skippedBy === null ? "" : "struck"}`}>
      <time class="strong" title={fullTime(time)}>
        {minuteTime(time)}
      </time>
      <Glyph name={glyph} />
      <a class="cut" href={`/schedules?schedule=${of.schedule_id}`} title={`${of.project} / ${of.flow}`}>
        <bdi>{of.project}</bdi> / <bdi>{of.flow}</bdi>
      </a>
      <span class="meta faint">
        {note}, {when}
      </span>
    </li>
  );
}
