/** The latest results of a flow as a strip, oldest first. */
import type { JSX } from "preact";
import type { RecentRun } from "#protocol/records/flow";
import { duration } from "../../format/duration.ts";
import { lookOf } from "../../state/look.ts";

export function ResultStrip({ results }: { results: readonly RecentRun[] }): JSX.Element {
  if (results.length === 0) return <span class="faint">no run ended yet</span>;
  const wrong = results.filter(([, type]) => type === "Failed" || type === "Crashed").length;
  return (
    <span class="results">
      <span class="sr">{`${results.length} results, ${wrong} went wrong`}</span>
      {results.toReversed().map(([id, type, name, us]) => {
        const look = lookOf({ type, name });
        return (
          <i
            key={id}
            class={`s-${look.token} ${type === "Failed" || type === "Crashed" ? "low" : ""}`}
            title={`${look.word}${us === null ? "" : `, ${duration(us)}`}`}
          />
        );
      })}
    </span>
  );
}
