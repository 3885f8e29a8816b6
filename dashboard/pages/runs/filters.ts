/** The filters of the runs page: read from the address, sent to the server, and applied to runs of the stream. */
import type { Run } from "#protocol/records/run";
import { type QueryValues, withQuery } from "../../api/client.ts";
import { nowUs } from "../../format/now.ts";
import { param } from "../../router/router.ts";

/** Time ranges by their name in the address. */
export const RUN_RANGES = [
  ["", "Any time", 0],
  ["1h", "Last hour", 3_600],
  ["24h", "Last 24 hours", 86_400],
  ["7d", "Last 7 days", 604_800],
  ["30d", "Last 30 days", 2_592_000],
] as const;

export const WENT_WRONG = "Failed,Crashed";
const STEP_US = 60_000_000;

export interface RunFilters {
  project: string;
  flow: string;
  flow_id: string;
  state_name: string;
  states: string;
  /** Words of the search. */
  search: string;
  tags: string;
  /** Wanted values of parameters: name=value, separated by blanks. */
  parameters: string;
  schedule_id: string;
  backfill_id: string;
  range: string;
  ended: string;
  /** Bounds on the end time, microseconds: set by a bar of the overview. */
  ended_from: string;
  ended_to: string;
  sort: string;
}

export function readRunFilters(): RunFilters {
  return {
    project: param("project"),
    flow: param("flow"),
    flow_id: param("flow_id"),
    state_name: param("state"),
    states: param("states"),
    search: param("q"),
    tags: param("tag"),
    parameters: param("parameters"),
    schedule_id: param("schedule"),
    backfill_id: param("backfill"),
    range: param("range"),
    ended: param("ended"),
    ended_from: param("ended_from"),
    ended_to: param("ended_to"),
    sort: param("sort"),
  };
}

/** The start of a range, to the minute, so that the query stays the same within a minute. */
function since(range: string): number | null {
  const seconds = RUN_RANGES.find(([id]) => id === range)?.[2] ?? 0;
  return seconds === 0 ? null : Math.floor((nowUs() - seconds * 1_000_000) / STEP_US) * STEP_US;
}

function common(filters: RunFilters): QueryValues {
  const { range, ended, ended_from, ended_to, parameters, sort: _sort, state_name: _name, states: _states, ...plain } = filters;
  const wanted = Object.fromEntries(wantedParameters(parameters).map(([name, value]) => [`parameters.${name}`, value]));
  return { ...plain, ...wanted, start_after: since(range), ended_after: since(ended) ?? ended_from, ended_before: ended_to };
}

/** The address of a page of runs. */
export function runListPath(filters: RunFilters, limit: number, cursor: number | null): string {
  const { state_name, states, sort } = filters;
  return withQuery("/api/runs", { ...common(filters), state_name, states, sort: sort === "" ? "activity" : sort, limit, cursor });
}

/** The counts on the chips: by all filters except the state. */
export function countsPath(filters: RunFilters): string {
  return withQuery("/api/runs/counts", common(filters));
}

/** The count of the list, by every filter. */
export function totalPath(filters: RunFilters): string {
  const { state_name, states } = filters;
  return withQuery("/api/runs/counts", { ...common(filters), state_name, states });
}

/** One text per set of filters; the list starts again when it changes. */
export function filterKey(filters: RunFilters): string {
  return JSON.stringify(filters);
}

export function hasRunFilters({ sort: _sort, ...filters }: RunFilters): boolean {
  return Object.values(filters).some((value) => value !== "");
}

/** Each word must occur in one of the texts that the server searches. */
function finds(search: string, { name, project, flow_name, tags, state, parameters }: Run): boolean {
  const texts = [name, `${project}/${flow_name}`, ...(tags ?? []), state.message ?? "", JSON.stringify(parameters ?? {})];
  const found = texts.join("\n").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => found.includes(word));
}

/** The entries of a filter by parameters. */
function wantedParameters(text: string): [name: string, value: string][] {
  return text.split(" ").flatMap((word) => {
    const at = word.indexOf("=");
    return at < 1 ? [] : [[word.slice(0, at), word.slice(at + 1)]];
  });
}

/** As the server does: a value is the text, or the JSON that the text spells. */
function hasParameters({ parameters }: Run, wanted: string): boolean {
  return wantedParameters(wanted).every(([name, value]) => {
    const found = Object.hasOwn(parameters ?? {}, name) ? parameters?.[name] : undefined;
    return found === value || (found !== undefined && typeof found !== "string" && JSON.stringify(found) === value);
  });
}

/** True if a run of the stream belongs in the list. */
export function runFits(run: Run, filters: RunFilters): boolean {
  const is = (wanted: string, value: string | number | null | undefined) => wanted === "" || wanted === String(value ?? "");
  const start = run.start_time ?? run.created_at;
  const from = since(filters.range);
  const ended = since(filters.ended);
  return (
    is(filters.project, run.project) &&
    is(filters.flow, run.flow_name) &&
    is(filters.flow_id, run.flow_id) &&
    is(filters.state_name, run.state.name) &&
    (filters.states === "" || filters.states.split(",").includes(run.state.type)) &&
    finds(filters.search, run) &&
    hasParameters(run, filters.parameters) &&
    filters.tags.split(",").every((tag) => tag === "" || run.tags?.includes(tag) === true) &&
    is(filters.schedule_id, run.schedule_id) &&
    is(filters.backfill_id, run.backfill_id) &&
    (from === null || start >= from) &&
    (ended === null || (run.end_time ?? 0) >= ended) &&
    (filters.ended_from === "" || (run.end_time ?? 0) >= Number(filters.ended_from)) &&
    (filters.ended_to === "" || (run.end_time !== null && run.end_time < Number(filters.ended_to)))
  );
}
