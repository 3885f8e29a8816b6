/** The log of a run, with the whole window for it. */
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
