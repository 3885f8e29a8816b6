/** Problems of the served directory: files that do not load, and parts of other files that do not work as intended. */
import type { JSX } from "preact";
import type { CodeProblem, Settings } from "#protocol/records/server";
import { useQuery } from "../api/query.ts";
import { counted } from "../format/number.ts";
import { Section } from "../parts/layout.tsx";
import { Glyph } from "../state/glyph.tsx";
import { firstLine } from "./why.ts";

/** A file that never loaded has no flow, and therefore no stream message. */
const EVERY_MS = 5_000;

export function useCodeProblems(): readonly CodeProblem[] {
  const settings = useQuery<Settings>("/api/settings", { live: { "flow.registered": true }, everyMs: EVERY_MS });
  return settings.data?.code_problems ?? [];
}

export function CodeProblems(): JSX.Element | null {
  const problems = useCodeProblems();
  if (problems.length === 0) return null;
  return (
    <Section title="Problems of the code" note={counted(problems.length, "problem")}>
      <ul class="code-problems">
        {problems.map(({ module, kind, error }) => (
          <li key={`${module} ${error}`} class={kind === "warning" ? "s-late" : "s-failed"}>
            <div>
              <Glyph name={kind === "warning" ? "late" : "flow-error"} /> <b class="mono">{module}</b> {WORDS[kind]}{" "}
              {firstLine(error)}
            </div>
            {error.includes("\n") && <pre class="mono dim">{error.slice(firstLine(error).length + 1)}</pre>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const WORDS: Record<CodeProblem["kind"], string> = {
  file: "does not load:",
  part: "is used only in part:",
  warning: "is probably meant otherwise:",
};
