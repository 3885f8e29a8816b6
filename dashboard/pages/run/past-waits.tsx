/** Why an ended run started late or not at all: what it waited for, and the runs that were in its way. */
import type { JSX } from "preact";
import type { PastWait } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import { isTerminal } from "#protocol/records/state";
import { useQuery } from "../../api/query.ts";
import { duration } from "../../format/duration.ts";
import { withMarksShown } from "../../format/marks.ts";
import { counted } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";

/** Closed at first, except for a run that never started: its waits are all there is to say. */
export function PastWaits({ run }: { run: Run }): JSX.Element | null {
  const ended = isTerminal(run.state.type);
  const { data } = useQuery<PastWait[]>(ended ? `/api/runs/${run.id}/waited` : null, {
    run: run.id,
    live: { "run.updated": true },
  });
  if (!ended || data === null || data.length === 0) return null;
  const all = data.reduce((sum, { from, to }) => sum + to - from, 0);
  return (
    <details class="past-waits" open={run.start_time === null || run.start_time === undefined}>
      <summary>
        What it waited for: {counted(data.length, "wait")}, {duration(all)}
      </summary>
      <ul>
        {data.map((wait) => (
          <li key={`${wait.from} ${wait.to} ${wait.stage}`}>
            <time class="faint num" title={fullTime(wait.from)}>
              {shortTime(wait.from)}
            </time>
            <span class="num">{wait.to === wait.from ? "" : duration(wait.to - wait.from)}</span>
            <span>
              {sentence(wait.text)} <Holders holders={wait.holders} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Holders({ holders }: Pick<PastWait, "holders">): JSX.Element | null {
  if (holders.length === 0) return null;
  return (
    <span class="dim">
      {holders.map(({ run_id, run_name }, index) => (
        <span key={run_id}>
          {index > 0 && ", "}
          <a class="underlined" href={`/runs/${run_id}`}>
            {run_name === "" ? `#${run_id}` : `${withMarksShown(run_name)} #${run_id}`}
          </a>
        </span>
      ))}
    </span>
  );
}

function sentence(text: string): string {
  const shown = withMarksShown(text);
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}.`;
}
