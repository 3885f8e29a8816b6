/** Tasks by name, with their number and states. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { TaskRun } from "#protocol/records/task-run";
import { count } from "../../format/number.ts";
import { Section } from "../../parts/layout.tsx";
import { withParams } from "../../router/router.ts";
import { lookOf } from "../../state/look.ts";
import { groupTasks } from "./task-groups.ts";

/** More names than these are left to the table. */
const GROUPS_MAX = 50;

export function TaskGroups({ tasks }: { tasks: readonly TaskRun[] }): JSX.Element {
  const groups = useMemo(() => groupTasks(tasks), [tasks]);
  const all = tasks.length;
  const failed = groups.reduce((sum, group) => sum + group.failed, 0);
  return (
    <Section title="Tasks by name" note={failed > 0 ? `${count(failed)} of ${count(all)} failed` : count(all)}>
      <ul class="rows">
        {groups.slice(0, GROUPS_MAX).map(({ name, total, states }) => (
          <li key={name} class="task-group">
            <a class="cut name" href={withParams({ tab: "tasks", task: name })} title={name}>
              {name}
            </a>
            <span class="mini" aria-hidden="true">
              {states.map(([state, number]) => (
                <i key={state} class={`s-${lookOf({ type: "Completed", name: state }).token}`} style={{ flexGrow: number }} />
              ))}
            </span>
            <span class="num dim">{count(total)}</span>
          </li>
        ))}
      </ul>
      {groups.length > GROUPS_MAX && (
        <p class="hint">
          The first {GROUPS_MAX} of {count(groups.length)} names.
        </p>
      )}
    </Section>
  );
}
