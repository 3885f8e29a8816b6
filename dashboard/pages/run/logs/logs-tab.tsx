/** The log of a run in the full height of the window. */
import type { JSX } from "preact";
import type { TabProps } from "../run-page.tsx";
import { LogPanel } from "./log-panel.tsx";

export function Tab({ run }: TabProps): JSX.Element {
  return (
    <section aria-label="Log">
      <LogPanel run={run} />
    </section>
  );
}
