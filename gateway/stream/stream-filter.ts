/**
 * The filter of a reader of the stream, compiled from its query. Readers with the same filter share one, so each message is
 * judged once per distinct filter.
 *
 * What decides about a message never changes: a run keeps its flow, project, tags and parameters. So a record passes with all of its
 * messages or with none, and what a reader has from a filtered stream equals the same part of the whole stream.
 */
import { type Refusal, refuse } from "#protocol/errors";
import { STREAM_FILTER_ITEMS_MAX } from "#protocol/limits";
import type { StreamQuery } from "#protocol/records/server";
import { checkMatchedName } from "#protocol/vocabulary";
import { STREAM_KINDS, type StreamKind } from "#protocol/wire/feed";
import type { MessageSubject } from "#storage/queries/message-subject";
import type { ParameterFilter } from "#storage/queries/parameter-filter";
import { eventName, type StreamEntry } from "./stream-ring.ts";

/** Names of the messages that a filter can select; `hello` and `resync` always come. */
const MESSAGES: readonly string[] = [...new Set(STREAM_KINDS.map(eventName))];

export type CompiledFilter = { ok: true; filter: StreamFilter | null } | { ok: false; refusal: Refusal };

type FilterQuery = Omit<StreamQuery, "since">;

/** Null for a query without a filter. */
export function compileFilter(query: FilterQuery): CompiledFilter {
  const { run_id, flow_id, project, parameters, snapshot } = query;
  const refusal =
    wrongList("tags", query.tags) ?? wrongList("kinds", query.kinds) ?? wrongList("names", query.names) ?? wrongWords(query);
  if (refusal !== null) return { ok: false, refusal };
  if (snapshot === 1 && run_id === undefined) return { ok: false, refusal: refuse("bad_filter", "snapshot", "it needs run_id") };
  const lists = [query.tags, query.kinds, query.names].map((list) => (list === undefined ? null : [...new Set(list)].sort()));
  if ([run_id, flow_id, project, parameters].every((value) => value === undefined) && lists.every((list) => list === null))
    return { ok: true, filter: null };
  const named = Object.entries(parameters ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const key = JSON.stringify([run_id ?? null, flow_id ?? null, project ?? null, named, ...lists, snapshot === 1]);
  return { ok: true, filter: new StreamFilter(key, query) };
}

function wrongList(name: string, list: readonly string[] | undefined): Refusal | null {
  if (list === undefined) return null;
  if (list.length === 0) return refuse("bad_filter", name, "the list is empty");
  if (list.length <= STREAM_FILTER_ITEMS_MAX) return null;
  return refuse("bad_filter", name, `expected at most ${STREAM_FILTER_ITEMS_MAX} entries`);
}

function wrongWords({ kinds = [], names = [] }: FilterQuery): Refusal | null {
  const kind = kinds.find((word) => !MESSAGES.includes(word));
  if (kind !== undefined) return refuse("bad_filter", "kinds", `unknown kind "${kind}"; known: ${MESSAGES.join(", ")}`);
  for (const name of names) {
    if (name.slice(0, -1).includes("*"))
      return refuse("bad_filter", "names", `"${name}": expected a name, or a prefix ending in *`);
    const wrong = name === "*" ? null : checkMatchedName(name);
    if (wrong !== null) return refuse("bad_filter", "names", wrong);
  }
  return null;
}

/** What a filter asks about a message. */
export interface MessageFacts {
  /** What a message belongs to; null if the row was deleted. */
  ownerOf(entry: StreamEntry): MessageSubject | null;
  /** The name of an event; null if the row was deleted. */
  nameOf(entry: StreamEntry): string | null;
}

export class StreamFilter {
  /** Equal for equal filters. */
  readonly key: string;
  /** The run whose record a reader gets first and after each `resync`; null if none. */
  readonly snapshotOf: number | null;
  readonly #run: number | null;
  readonly #flow: number | null;
  readonly #project: string | null;
  readonly #tags: readonly string[];
  readonly #parameters: ParameterFilter | null;
  readonly #kinds: ReadonlySet<StreamKind> | null;
  readonly #names: ReadonlySet<string> | null;
  readonly #prefixes: readonly string[];
  /** True when more than the run decides about what a message belongs to. */
  readonly #asksOwner: boolean;

  constructor(key: string, { run_id, flow_id, project, tags, parameters, kinds, names, snapshot }: FilterQuery) {
    this.key = key;
    this.#run = run_id ?? null;
    this.#flow = flow_id ?? null;
    this.#project = project ?? null;
    this.#tags = tags ?? [];
    this.#parameters = parameters ?? null;
    this.#kinds = kinds === undefined ? null : new Set(STREAM_KINDS.filter((kind) => kinds.includes(eventName(kind))));
    this.#names = names === undefined ? null : new Set(names);
    this.#prefixes = (names ?? []).filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
    this.#asksOwner = this.#flow !== null || this.#project !== null || this.#tags.length > 0 || this.#parameters !== null;
    this.snapshotOf = snapshot === 1 ? this.#run : null;
  }

  passes(entry: StreamEntry, facts: MessageFacts): boolean {
    const { kind, id, run } = entry;
    if (this.#kinds !== null && !this.#kinds.has(kind)) return false;
    // The record is gone, and with it what it belonged to. The deletion of a record that the reader never had is harmless.
    if (kind === "run.deleted") return this.#run === null || this.#run === id;
    if (kind === "schedule.deleted") return this.#run === null && this.#tags.length === 0 && this.#parameters === null;
    // Most messages are decided by the run that they carry: what is read for one message is read for thousands in a second.
    if (this.#run !== null && run !== 0 && run !== this.#run) return false;
    if (this.#names !== null && kind === "event.created" && !this.#passesName(facts.nameOf(entry) ?? "")) return false;
    if (!this.#asksOwner && (this.#run === null || run !== 0)) return true;
    const owner = facts.ownerOf(entry);
    return owner !== null && this.#passesOwner(owner);
  }

  #passesOwner({ run, flow, project, tags, hasParameters }: MessageSubject): boolean {
    if (this.#run !== null && this.#run !== run) return false;
    if (this.#flow !== null && this.#flow !== flow) return false;
    if (this.#project !== null && this.#project !== project) return false;
    if (!this.#tags.every((tag) => tags.includes(tag))) return false;
    return this.#parameters === null || hasParameters(this.#parameters);
  }

  #passesName(name: string): boolean {
    return this.#names?.has(name) === true || this.#prefixes.some((prefix) => name.startsWith(prefix));
  }
}
