/** Shown if a run has more tasks than are displayed. */
import type { JSX } from "preact";
import { count } from "../../format/number.ts";
import { TASKS_SHOWN_MAX } from "./tasks.ts";

export function MoreTasks({ more }: { more: boolean }): JSX.Element | null {
  return more ? <p class="hint">The first {count(TASKS_SHOWN_MAX)} tasks are shown.</p> : null;
}
