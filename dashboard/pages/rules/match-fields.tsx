/** The clauses of a match: which events, of which flows, states and tags. */
import type { JSX } from "preact";
import type { FlowSummary } from "#protocol/records/flow";
import type { Vocabulary } from "#protocol/vocabulary";
import { Select } from "../../parts/layout.tsx";
import { TokenField } from "../../parts/token-field.tsx";
import type { MatchDraft } from "./rule-draft.ts";
import type { MatchList } from "./rule-problem.ts";

/** The suggestions for the fields of a rule. */
export interface Offered {
  vocabulary: Vocabulary | null;
  flows: readonly FlowSummary[];
}

/** Names of events, and prefixes for all events of a kind. */
function eventNames(vocabulary: Vocabulary | null): string[] {
  if (vocabulary === null) return [];
  return [...vocabulary.events.map(({ name }) => name), ...vocabulary.reserved_prefixes.map((prefix) => `${prefix}*`)];
}

interface MatchFieldsProps {
  /** "When" or "Unless", for screen readers. */
  clause: string;
  match: MatchDraft;
  change: (match: MatchDraft) => void;
  offered: Offered;
  /** False if a clock arms the rule instead of an event. */
  withEvents?: boolean;
  /** The list that contains an invalid name. */
  wrong: MatchList | "";
}

export function MatchFields({ clause, match, change, offered, withEvents = true, wrong }: MatchFieldsProps): JSX.Element {
  const { vocabulary, flows } = offered;
  const projects = [...new Set(flows.map(({ project }) => project))].sort();
  const tags = [...new Set(flows.flatMap((flow) => flow.tags))].sort();
  const field = (name: MatchList, known: readonly string[], placeholder: string) => (
    <TokenField
      label={`${clause}: ${name}`}
      tokens={match[name]}
      change={(tokens) => change({ ...match, [name]: tokens })}
      {...{ known, placeholder }}
      wrong={wrong === name}
    />
  );
  return (
    <div class="match">
      {withEvents && field("events", eventNames(vocabulary), "run.failed, or a prefix such as run.*")}
      <div class="match-more">
        <span class="dim">of flows</span>
        {field(
          "flows",
          flows.map(({ name }) => name),
          "any",
        )}
        <span class="dim">in state</span>
        {field(
          "states",
          (vocabulary?.states ?? []).map(({ name }) => name),
          "any",
        )}
        <span class="dim">with tag</span>
        {field("tags", tags, "any")}
        {projects.length > 1 && (
          <>
            <span class="dim">in project</span>
            <Select
              label={`${clause}: project`}
              options={[["", "any"], ...projects.map((name) => [name, name] as const)]}
              chosen={match.project}
              choose={(project) => change({ ...match, project })}
            />
          </>
        )}
      </div>
    </div>
  );
}
