/** Resources as cells: one per unit, with the time its holder has had it. Resources with many units are a bar. */

import type { JSX } from "preact";
import type { QueueResource, ResourceHolder } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import { duration, roughDuration } from "../../format/duration.ts";
import { withMarksShown } from "../../format/marks.ts";
import { count } from "../../format/number.ts";
import { useTypical } from "../../records/typical.ts";
import { resourceWords } from "../../records/why.ts";

/** Above this number a bar is drawn. */
const CELLS_MAX = 16;
const US_PER_SECOND = 1_000_000;

interface Holding {
  holder: ResourceHolder;
  /** Longer than runs of its flow usually take. */
  long: boolean;
}

/** The resource of a backfill stays for reruns; it is hidden while it is unused. */
function isShown({ name, used, waiting }: QueueResource): boolean {
  return !name.startsWith("backfill:") || used > 0 || waiting > 0;
}

export function Resources({
  resources,
  started,
}: {
  resources: readonly QueueResource[];
  started: ReadonlyMap<number, Run>;
}): JSX.Element {
  const typical = useTypical().value;
  const ordered = resources.filter(isShown).sort((a, b) => b.waiting - a.waiting || a.name.localeCompare(b.name));
  if (ordered.length === 0)
    return (
      <p class="calm dim">
        No resource is known. Flows name what they need,{" "}
        <a class="underlined" href="/settings">
          settings
        </a>{" "}
        say how much there is.
      </p>
    );
  const isLong = ({ run_id, held_secs }: ResourceHolder) => {
    const usual = typical.get(started.get(run_id)?.flow_id ?? 0);
    return usual !== undefined && held_secs * US_PER_SECOND > usual;
  };
  const holdings = ({ holders }: QueueResource) => holders.map((holder) => ({ holder, long: isLong(holder) }));
  return (
    <>
      <ul class="rows resources">
        {ordered.map((resource) => (
          <li key={resource.name}>
            <span class="cut name" title={resourceWords(resource.name)}>
              {resourceWords(resource.name)}
            </span>
            <Cells resource={resource} holdings={holdings(resource)} />
            <span class={resource.waiting === 0 ? "num faint" : "num"}>
              {resource.waiting === 0 ? "none wait" : `${count(resource.waiting)} wait`}
            </span>
          </li>
        ))}
      </ul>
      <p class="hint">The figure is how long a unit has been held. Amber: longer than the flow usually runs.</p>
    </>
  );
}

function Cells({ resource, holdings }: { resource: QueueResource; holdings: readonly Holding[] }): JSX.Element {
  const { total, used, name } = resource;
  const whole = holdings.every(({ holder }) => Number.isInteger(holder.amount)) && Number.isInteger(total);
  if (!whole || total > CELLS_MAX)
    return (
      <span class="row">
        <progress value={used} max={Math.max(total, used)} aria-label={`${name} in use`} />
        <span class="meta dim">
          {used} of {total}
        </span>
      </span>
    );
  const free = Math.max(0, total - used);
  return (
    <ul class="slots">
      {holdings.map(({ holder, long }, index) => {
        const age = roughDuration(holder.held_secs * US_PER_SECOND);
        const units = holder.amount === 1 ? "" : `, ${holder.amount} units`;
        const name = withMarksShown(holder.run_name || `run ${holder.run_id}`);
        const who = `held by ${name} for ${duration(holder.held_secs * US_PER_SECOND)}${units}`;
        return (
          <li key={`${holder.run_id} ${index}`} style={{ flexGrow: holder.amount > 1 ? holder.amount : 0 }}>
            <a class={`slot ${long ? "s-late" : "s-running"}`} href={`/runs/${holder.run_id}`} title={who}>
              {age}
              {holder.amount > 1 && ` \u00d7 ${holder.amount}`}
              <span class="sr"> {who}</span>
            </a>
          </li>
        );
      })}
      {Array.from({ length: free }, (_, index) => (
        <li key={`free ${index}`} class="slot">
          free
        </li>
      ))}
    </ul>
  );
}
