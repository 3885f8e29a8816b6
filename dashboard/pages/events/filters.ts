/** The filters of the events page: read from the address, sent to the server, and applied to events of the stream. */
import type { Event } from "#protocol/records/event";
import { withQuery } from "../../api/client.ts";
import { nowUs } from "../../format/now.ts";
import { param } from "../../router/router.ts";

/** Time ranges by their name in the address, in seconds. */
export const EVENT_RANGES = [
  ["", "Any time", 0],
  ["1h", "Last hour", 3_600],
  ["24h", "Last 24 hours", 86_400],
  ["7d", "Last 7 days", 604_800],
] as const;

/** Kinds of resources of server events; custom events may use others. */
export const KINDS = ["run", "task_run", "flow", "schedule", "resource", "rule", "custom"] as const;

const STEP_US = 60_000_000;

export interface EventFilters {
  /** Exact, or a prefix that ends in `*`. */
  name: string;
  kind: string;
  resource: string;
  run: string;
  flow: string;
  range: string;
}

export function readEventFilters(): EventFilters {
  return {
    ...{ name: param("name"), kind: param("kind"), resource: param("resource") },
    ...{ run: param("run"), flow: param("flow"), range: param("range") },
  };
}

/** The start of the range, to the minute. */
function since(range: string): number | null {
  const seconds = EVENT_RANGES.find(([id]) => id === range)?.[2] ?? 0;
  return seconds === 0 ? null : Math.floor((nowUs() - seconds * 1_000_000) / STEP_US) * STEP_US;
}

export function eventListPath(filters: EventFilters, limit: number, cursor: number | null): string {
  const { name, kind, resource, run, flow, range } = filters;
  const asked = { name, resource_kind: kind, resource_id: resource, run_id: run, flow_id: flow };
  return withQuery("/api/events", { ...asked, after: since(range), limit, cursor });
}

/** True if an event of the stream belongs in the list. */
export function eventFits(event: Event, { name, kind, resource, run, flow }: EventFilters): boolean {
  const is = (wanted: string, value: string | number | null | undefined) => wanted === "" || wanted === String(value ?? "");
  const named = name.endsWith("*") ? event.name.startsWith(name.slice(0, -1)) : is(name, event.name);
  return (
    named && is(kind, event.resource.kind) && is(resource, event.resource.id) && is(run, event.run_id) && is(flow, event.flow_id)
  );
}

export function hasEventFilters(filters: EventFilters): boolean {
  return Object.values(filters).some((value) => value !== "");
}
