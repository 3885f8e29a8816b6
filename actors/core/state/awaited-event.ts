/** Which events a wait of a durable run is for. */
import { canonicalJson } from "#protocol/values/json";
import type { SeenEvent } from "#storage/load/load-events";

/** The record of an event, with the id of its run. */
export type AwaitedEvent = Readonly<Record<string, unknown>> & { id: number; name: string };

export function awaitedEvent(event: SeenEvent): AwaitedEvent {
  const { id, name, occurred, run_id } = event;
  return { ...(JSON.parse(event.record()) as Record<string, unknown>), id, name, occurred, run_id };
}

/** What a wait is for: the name of the event, and values by their path in the event, as canonical JSON text. */
export interface EventFilter {
  event: string;
  where: readonly { path: readonly string[]; value: string }[];
}

/** From the spec of a stored wait. */
export function filterOf(spec: string | null): EventFilter {
  const { event = "", where } = JSON.parse(spec ?? "{}") as { event?: string; where?: Record<string, unknown> | null };
  const values = Object.entries(where ?? {});
  return { event, where: values.map(([path, value]) => ({ path: path.split("."), value: canonicalJson(value) })) };
}

/** Whether an event of the awaited name has every value that the wait asks for. */
export function isAwaited(filter: EventFilter | undefined, event: AwaitedEvent): boolean {
  return filter?.where.every(({ path, value }) => canonicalText(valueAt(event, path)) === value) ?? false;
}

function valueAt(event: AwaitedEvent, path: readonly string[]): unknown {
  let value: unknown = event;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Null for what the event does not have. */
function canonicalText(value: unknown): string | null {
  return value === undefined ? null : canonicalJson(value);
}
