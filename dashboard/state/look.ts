/**
 * The visual language of states: glyph, word, colour and loudness. Quiet states ended well or wait for their time, live states
 * are active, loud states need attention.
 */
import type { State } from "#protocol/records/state";

export type Loudness = "quiet" | "live" | "loud";

export interface StateLook {
  /** Name of the glyph, and of the colour tokens: --st-<token>. */
  token: string;
  /** The word for users: "Awaiting resource". */
  word: string;
  loudness: Loudness;
}

const LOOKS: Readonly<Record<string, StateLook>> = {
  Scheduled: { token: "scheduled", word: "Scheduled", loudness: "quiet" },
  Pending: { token: "pending", word: "Pending", loudness: "live" },
  AwaitingResource: { token: "awaiting-resource", word: "Awaiting resource", loudness: "live" },
  AwaitingRetry: { token: "awaiting-retry", word: "Awaiting retry", loudness: "live" },
  Sleeping: { token: "sleeping", word: "Sleeping", loudness: "quiet" },
  AwaitingEvent: { token: "awaiting-event", word: "Awaiting event", loudness: "quiet" },
  AwaitingChild: { token: "awaiting-child", word: "Awaiting child", loudness: "quiet" },
  Resuming: { token: "resuming", word: "Resuming", loudness: "live" },
  Running: { token: "running", word: "Running", loudness: "live" },
  Retrying: { token: "retrying", word: "Retrying", loudness: "live" },
  Cancelling: { token: "cancelling", word: "Cancelling", loudness: "live" },
  Completed: { token: "completed", word: "Completed", loudness: "quiet" },
  Cached: { token: "cached", word: "Cached", loudness: "quiet" },
  Skipped: { token: "skipped", word: "Skipped", loudness: "quiet" },
  Cancelled: { token: "cancelled", word: "Cancelled", loudness: "quiet" },
  Late: { token: "late", word: "Late", loudness: "loud" },
  Paused: { token: "paused", word: "Paused", loudness: "loud" },
  Failed: { token: "failed", word: "Failed", loudness: "loud" },
  TimedOut: { token: "timed-out", word: "Timed out", loudness: "loud" },
  Crashed: { token: "crashed", word: "Crashed", loudness: "loud" },
};

/** The look of a state. A custom name keeps its word and has the shape of its type; an unknown type is grey. */
export function lookOf({ type, name }: Pick<State, "type" | "name">): StateLook {
  const known = LOOKS[name];
  if (known !== undefined) return known;
  const family = LOOKS[type];
  return family === undefined ? { token: "unknown", word: name, loudness: "quiet" } : { ...family, word: name };
}

/** The look of a state by its name alone, for filters and charts. */
export function lookOfName(name: string): StateLook {
  return LOOKS[name] ?? { token: "unknown", word: name, loudness: "quiet" };
}

/** Every state with a look of its own, those that need a person first: the order of filters. */
export const STATE_ORDER = [
  "Failed",
  "TimedOut",
  "Crashed",
  "Late",
  "Paused",
  "Running",
  "Retrying",
  "Pending",
  "Resuming",
  "Cancelling",
  "AwaitingResource",
  "AwaitingRetry",
  "AwaitingChild",
  "AwaitingEvent",
  "Sleeping",
  "Scheduled",
  "Completed",
  "Cached",
  "Skipped",
  "Cancelled",
] as const;
