/** What the page asks of the stream: the kinds of messages that it listens for, of one run where no other run matters. */
import type { LiveKind, LiveMessages } from "./messages.ts";

/** What one listener needs. */
export interface Listening {
  kind: LiveKind;
  /** The only run whose messages are needed; null for all. */
  run: number | null;
}

export interface StreamFilter {
  kinds: readonly LiveKind[];
  run: number | null;
}

/** A stream without a kind would bring all messages: this one is rare. */
const RARE: LiveKind = "flow.registered";

export function filterOf(listeners: Iterable<Listening>): StreamFilter {
  const all = [...listeners];
  const runs = new Set(all.map(({ run }) => run));
  const [run = null] = runs.size === 1 ? runs : [];
  const kinds = new Set(all.map(({ kind }) => kind));
  return { run, kinds: all.length === 0 ? [RARE] : [...kinds].sort() };
}

/** Whether a stream with the first filter brings everything that one with the second would. */
export function covers(given: StreamFilter, wanted: StreamFilter): boolean {
  return (given.run === null || given.run === wanted.run) && wanted.kinds.every((kind) => given.kinds.includes(kind));
}

export function isSame(a: StreamFilter, b: StreamFilter): boolean {
  return covers(a, b) && covers(b, a);
}

/** The run that a message is about; null for none. */
export function runOf<K extends LiveKind>(kind: K, message: LiveMessages[K]): number | null {
  if (kind === "run.updated") return (message as LiveMessages["run.updated"]).id;
  return "run_id" in message ? (message.run_id as number | null) : null;
}
