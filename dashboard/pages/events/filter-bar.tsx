/** The filters above the events; filters that only links set can be removed here. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type { Vocabulary } from "#protocol/vocabulary";
import { useQuery } from "../../api/query.ts";
import { useKeys } from "../../input/keys.ts";
import { useTypedText } from "../../input/typed-text.ts";
import { Key, Select } from "../../parts/layout.tsx";
import { useFlows } from "../../records/flows.ts";
import { param, stepParams, typeParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { EVENT_RANGES, type EventFilters, hasEventFilters, KINDS } from "./filters.ts";

const TYPING_MS = 250;

function NameSearch(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [text, type] = useTypedText({
    filter: () => param("name"),
    apply: (name) => typeParams({ name: name.trim() }),
    waitMs: TYPING_MS,
  });
  const vocabulary = useQuery<Vocabulary>("/api/vocabulary").data;
  useKeys([{ keys: "/", does: "filter by name", run: () => field.current?.focus() }], { group: "Events" });
  const names = [
    ...(vocabulary?.reserved_prefixes ?? []).map((prefix) => `${prefix}*`),
    ...(vocabulary?.events ?? []).map((event) => event.name),
  ];
  return (
    <label class="field search">
      <Glyph name="search" />
      <span class="sr">Name of events</span>
      <input
        ref={field}
        type="text"
        list="event-names"
        autocomplete="off"
        placeholder="run.failed, or a prefix: run.*"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
      />
      <Key name="/" />
      <datalist id="event-names">
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}

export function EventFilterBar({ filters }: { filters: EventFilters }): JSX.Element {
  const flows = useFlows().data ?? [];
  const kinds = filters.kind === "" || (KINDS as readonly string[]).includes(filters.kind) ? KINDS : [...KINDS, filters.kind];
  const extras = [
    ["run", filters.run, `Run #${filters.run}`],
    ["resource", filters.resource, `Resource ${filters.resource}`],
  ] as const;
  return (
    <div class="toolbar events-bar">
      <NameSearch />
      <Select
        label="About"
        options={[["", "About anything"], ...kinds.map((kind) => [kind, `About a ${kind.replace("_", " ")}`] as const)]}
        chosen={filters.kind}
        choose={(kind) => stepParams({ kind })}
      />
      <Select
        label="Flow"
        options={[["", "Any flow"], ...flows.map(({ id, project, name }) => [String(id), `${project} / ${name}`] as const)]}
        chosen={filters.flow}
        choose={(flow) => stepParams({ flow })}
      />
      <Select
        label="Occurred within"
        options={EVENT_RANGES.map(([id, text]) => [id, text] as const)}
        chosen={filters.range}
        choose={(range) => stepParams({ range })}
      />
      {extras
        .filter(([, value]) => value !== "")
        .map(([name, , text]) => (
          <button type="button" class="button" key={name} onClick={() => stepParams({ [name]: null })}>
            {text} <Glyph name="close" size={12} />
            <span class="sr">take away</span>
          </button>
        ))}
      {hasEventFilters(filters) && (
        <a class="button quiet" href="/events">
          Clear
        </a>
      )}
    </div>
  );
}
