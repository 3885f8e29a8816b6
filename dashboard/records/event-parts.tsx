/** Parts of an event: its subject with a link, and its content. */

import type { JSX } from "preact";
import type { Event, Resource } from "#protocol/records/event";
import { withMarksShown } from "../format/marks.ts";
import { lookOf, type StateLook } from "../state/look.ts";
import { StateGlyph } from "../state/state-mark.tsx";

const KIND_WORDS: Readonly<Record<string, string>> = { task_run: "task", run: "run" };

export function kindWord(kind: string): string {
  return KIND_WORDS[kind] ?? kind;
}

/** The page of an event's resource, or null. Resources have ids of their own; the event holds the numbers for the address. */
export function resourceAddress({ kind, id, name }: Resource, event: Event): string | null {
  const payload = event.payload ?? {};
  switch (kind) {
    case "run":
      return event.run_id == null ? null : `/runs/${event.run_id}`;
    case "task_run":
      return event.run_id == null ? null : `/runs/${event.run_id}?tab=tasks`;
    case "flow":
      return event.flow_id == null ? null : `/flows/${event.flow_id}`;
    case "rule":
      return typeof payload["rule_id"] === "number" ? `/rules/${payload["rule_id"]}` : null;
    case "schedule":
      return typeof payload["schedule_id"] === "number" ? `/schedules?schedule=${payload["schedule_id"]}` : null;
    case "resource":
      return "/queue";
    case "tag":
      return `/runs?tag=${encodeURIComponent(name ?? id)}`;
    default:
      return null;
  }
}

/** The look of the state in the event, or null. */
function lookOfEvent({ payload = {} }: Event): StateLook | null {
  const { state, state_type } = payload;
  if (typeof state !== "string") return null;
  return lookOf({ name: state, type: (typeof state_type === "string" ? state_type : state) as never });
}

export function EventGlyph({ event }: { event: Event }): JSX.Element | null {
  const look = lookOfEvent(event);
  return look === null ? null : <StateGlyph look={look} size={12} />;
}

/** Parts of a payload that are shown elsewhere in a row, or add little. */
const TOLD: ReadonlySet<string> = new Set([
  ...["state", "state_type", "message", "flow", "project", "parameters", "created_by", "task", "dynamic_key"],
  ...["rule_id", "schedule_id", "id"],
]);
const LENGTH_MAX = 240;

/** An event in one line: its message, or the specific part of its payload. */
export function eventText({ payload = {} }: Event): string {
  const message = payload["message"];
  const said = typeof message === "string" ? [message.split("\n", 1)[0] ?? ""] : [];
  for (const [name, value] of Object.entries(payload)) {
    if (TOLD.has(name) || value === null || value === "") continue;
    said.push(`${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`);
    if (said.join("; ").length > LENGTH_MAX) break;
  }
  const text = withMarksShown(said.join("; "));
  return text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}\u2026` : text;
}
