/** Search, time, project and the state chips, all kept in the address. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { FlowSummary } from "#protocol/records/flow";
import type { RunCounts } from "#protocol/records/run";
import { useQuery } from "../../api/query.ts";
import { count } from "../../format/number.ts";
import { plannedTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { useTypedText } from "../../input/typed-text.ts";
import { Key, Select } from "../../parts/layout.tsx";
import { navigate, type ParamChanges, stepParams, typeParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { lookOfName, STATE_ORDER } from "../../state/look.ts";
import { hasRunFilters, RUN_RANGES, type RunFilters, readRunFilters, WENT_WRONG } from "./filters.ts";

const TYPING_MS = 150;
/** The server's limit. */
const SEARCH_LENGTH_MAX = 200;

const PARAMETER = /(?<!\S)[^\s=:"\\]+=\S+/g;

/** The meaning of the search words: "#12" is a run, "tag:x" a tag, "customer=7" a value of a parameter, a flow's name that flow; other words are searched for. */
function searched(text: string, flows: readonly FlowSummary[]): ParamChanges | number {
  const number = /^#(\d+)$/.exec(text.trim().replaceAll(" ", ""))?.[1];
  if (number !== undefined) return Number(number);
  const tags = [...text.matchAll(/\btag:(\S+)/g)].map((match) => match[1]).join(",");
  const parameters = [...text.matchAll(PARAMETER)].map((match) => match[0]).join(" ");
  const words = text
    .replaceAll(/\btag:\S*/g, "")
    .replaceAll(PARAMETER, "")
    .trim();
  const flow = flows.find(({ project, name }) => words === name || words.replaceAll(" ", "") === `${project}/${name}`);
  if (flow === undefined) return { q: words, tag: tags, parameters, flow: null, project: null };
  return { q: null, tag: tags, parameters, flow: flow.name, project: words.includes("/") ? flow.project : null };
}

function textOf({ search, tags, parameters, flow, project }: RunFilters): string {
  const flowText = flow === "" ? "" : project === "" ? flow : `${project}/${flow}`;
  return [...tags.split(",").flatMap((tag) => (tag === "" ? [] : [`tag:${tag}`])), parameters, flowText, search]
    .filter(Boolean)
    .join(" ");
}

function Search({ flows }: { flows: readonly FlowSummary[] }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [text, type] = useTypedText({
    filter: () => textOf(readRunFilters()),
    apply: (words) => {
      const asked = searched(words, flows);
      if (typeof asked !== "number") typeParams(asked);
    },
    waitMs: TYPING_MS,
  });
  useKeys([{ keys: "/", does: "search", run: () => field.current?.focus() }], { group: "Runs" });
  return (
    <label class="field search">
      <Glyph name="search" />
      <span class="sr">Search runs</span>
      <input
        ref={field}
        type="text"
        list="flow-names"
        maxLength={SEARCH_LENGTH_MAX}
        placeholder="Flow, tag, message, customer=7 or #id"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          const asked = event.key === "Enter" ? searched(text, flows) : null;
          if (typeof asked === "number") navigate(`/runs/${asked}`);
        }}
      />
      <Key name="/" />
      <datalist id="flow-names">
        {flows.map(({ id, project, name }) => (
          <option key={id} value={`${project}/${name}`} />
        ))}
      </datalist>
    </label>
  );
}

interface Chip {
  id: string;
  word: string;
  token: string | null;
  count: number | null;
  chosen: boolean;
  change: ParamChanges;
}

/** States of the first row of chips, plus active and failed states that some run has; the others are behind "More". */
const FIRST: ReadonlySet<string> = new Set(["Failed", "Late", "Paused", "Running", "AwaitingResource", "Scheduled", "Completed"]);

function chipsFor(filters: RunFilters, counts: RunCounts | null, all: boolean): Chip[] {
  const states = counts?.states ?? {};
  const names = [...STATE_ORDER, ...Object.keys(states).filter((name) => !(STATE_ORDER as readonly string[]).includes(name))];
  const chips: Chip[] = [
    {
      ...{ id: "all", word: "All", token: null, count: counts?.total ?? null },
      ...{ chosen: filters.state_name === "" && filters.states === "", change: { state: null, states: null } },
    },
  ];
  if (filters.states !== "") {
    const types = filters.states === WENT_WRONG ? "Went wrong" : filters.states.split(",").join(", ");
    chips.push({ id: "states", word: types, token: null, count: null, chosen: true, change: { states: null } });
  }
  for (const name of names) {
    const found = counts === null ? null : (states[name] ?? 0);
    const chosen = filters.state_name === name;
    const { word, token, loudness } = lookOfName(name);
    if (!all && !chosen && !FIRST.has(name) && (!found || loudness === "quiet")) continue;
    chips.push({ id: name, word, token, count: found, chosen, change: { state: chosen ? null : name, states: null } });
  }
  return chips;
}

function Chips({ filters, counts, stale }: { filters: RunFilters; counts: RunCounts | null; stale: boolean }): JSX.Element {
  const [all, setAll] = useState(false);
  return (
    <fieldset class={`chips ${stale ? "stale" : ""}`}>
      <legend class="sr">State</legend>
      {chipsFor(filters, counts, all).map((chip) => (
        <button
          type="button"
          key={chip.id}
          class={`chip ${chip.token === null ? "" : `s-${chip.token}`} ${chip.count === 0 ? "zero" : ""}`}
          aria-pressed={chip.chosen}
          onClick={() => stepParams(chip.change)}
        >
          {chip.token !== null && <Glyph name={chip.token} />}
          {chip.word} {chip.count !== null && <b>{`${count(chip.count)}${counts?.more ? "+" : ""}`}</b>}
        </button>
      ))}
      <button type="button" class="chip" aria-expanded={all} onClick={() => setAll(!all)}>
        {all ? "Fewer" : "More"}
      </button>
    </fieldset>
  );
}

export interface RunFilterBarProps {
  filters: RunFilters;
  counts: RunCounts | null;
  /** The counts belong to former filters. */
  stale: boolean;
}

export function RunFilterBar({ filters, counts, stale }: RunFilterBarProps): JSX.Element {
  const flows = useQuery<FlowSummary[]>("/api/flows", { live: { "flow.registered": true } }).data ?? [];
  const projects = [...new Set(flows.map(({ project }) => project))].sort();
  const failed = filters.states === WENT_WRONG;
  const toggle = () => stepParams({ states: failed ? null : WENT_WRONG, state: null });
  useKeys([{ keys: "f", does: "went wrong only", run: toggle }], { group: "Runs" });
  return (
    <>
      <div class="toolbar">
        <Search flows={flows} />
        <Select
          label="Started within"
          options={RUN_RANGES.map(([id, text]) => [id, text] as const)}
          chosen={filters.range}
          choose={(range) => stepParams({ range })}
        />
        {projects.length > 1 && (
          <Select
            label="Project"
            options={[["", "Any project"], ...projects.map((name) => [name, name] as const)]}
            chosen={filters.project}
            choose={(project) => stepParams({ project })}
          />
        )}
        <Extra filters={filters} />
        {hasRunFilters(filters) && (
          <a class="button quiet" href="/runs">
            Clear
          </a>
        )}
      </div>
      <Chips filters={filters} counts={counts} stale={stale} />
    </>
  );
}

/** Filters that only links set: shown so that they can be removed. */
function Extra({ filters }: { filters: RunFilters }): JSX.Element {
  const extras = [
    ["schedule", filters.schedule_id, `Schedule ${filters.schedule_id}`],
    ["backfill", filters.backfill_id, `Backfill ${filters.backfill_id}`],
    ["flow_id", filters.flow_id, `Flow ${filters.flow_id}`],
    ["ended", filters.ended, `Ended: ${RUN_RANGES.find(([id]) => id === filters.ended)?.[1].toLowerCase() ?? filters.ended}`],
  ] as const;
  const between = filters.ended_from !== "" && filters.ended_to !== "";
  return (
    <>
      {between && (
        <button type="button" class="button" onClick={() => stepParams({ ended_from: null, ended_to: null })}>
          Ended {plannedTime(Number(filters.ended_from))} to {plannedTime(Number(filters.ended_to))}{" "}
          <Glyph name="close" size={12} />
          <span class="sr">take away</span>
        </button>
      )}
      {extras
        .filter(([, value]) => value !== "")
        .map(([name, , text]) => (
          <button type="button" class="button" key={name} onClick={() => stepParams({ [name]: null })}>
            {text} <Glyph name="close" size={12} />
            <span class="sr">take away</span>
          </button>
        ))}
    </>
  );
}
