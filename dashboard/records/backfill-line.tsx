/** One backfill in a list: its values and its progress. */
import type { JSX } from "preact";
import type { BackfillStatus } from "#protocol/records/backfill";
import { count } from "../format/number.ts";
import { lookOfName } from "../state/look.ts";
import "./backfill.css";

const ENDED: ReadonlySet<string> = new Set(["Completed", "Cached", "Skipped", "Failed", "TimedOut", "Crashed", "Cancelled"]);
const ORDER = ["Completed", "Cached", "Skipped", "Failed", "TimedOut", "Crashed", "Cancelled", "Running", "Retrying", "Pending"];

export function endedOf({ counts }: BackfillStatus): number {
  return Object.entries(counts).reduce((sum, [name, number]) => sum + (ENDED.has(name) ? number : 0), 0);
}

/** "12 of 31, 2 failed". */
export function progressText(backfill: BackfillStatus): string {
  const { counts, total, cancelled } = backfill;
  const wrong = (counts["Failed"] ?? 0) + (counts["TimedOut"] ?? 0) + (counts["Crashed"] ?? 0);
  const said = `${count(endedOf(backfill))} of ${count(total)} ended`;
  return [said, wrong > 0 ? `${count(wrong)} went wrong` : "", cancelled ? "cancelled" : ""].filter(Boolean).join(", ");
}

export function ProgressBar({ backfill: { counts, total } }: { backfill: BackfillStatus }): JSX.Element {
  const known = ORDER.filter((name) => (counts[name] ?? 0) > 0);
  return (
    <span class="backfill-bar" aria-hidden="true">
      {known.map((name) => (
        <i
          key={name}
          class={`s-${lookOfName(name).token}`}
          style={{ width: `${((counts[name] ?? 0) / Math.max(1, total)) * 100}%` }}
        />
      ))}
    </span>
  );
}

export function BackfillLine({ backfill, name }: { backfill: BackfillStatus; name: string }): JSX.Element {
  return (
    <li class="backfill-line">
      <a class="cut name" href={`/backfills/${backfill.id}`}>
        {name}
      </a>
      <span class="cut dim">
        {backfill.start_value} to {backfill.end_value}
      </span>
      <ProgressBar backfill={backfill} />
      <span class="num dim">{progressText(backfill)}</span>
    </li>
  );
}
