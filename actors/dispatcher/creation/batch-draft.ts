/**
 * The runs of a batch that is being prepared, some hundred in a step, so that other commands run in between. They stay outside
 * the live state until the step that decides the batch adds all: a crash before that step leaves no trace.
 */
import { Refusal, refuse } from "#protocol/errors";
import { RUN_BATCH_SLICE_RUNS, RUN_BATCH_SLICE_US, RUN_BATCH_TAGS_MAX, RUN_BATCH_TEXT_MAX } from "#protocol/limits";
import { type BatchHead, type RunDefaults, RunOfBatch } from "#protocol/records/run-batch";
import { mergeParts, parseKeepingFractions } from "#protocol/values/json";
import { SENT_JSON } from "#protocol/values/json-scan";
import { validate } from "#protocol/values/validate";
import { runsIn, type SlicedBatch, textOfRun } from "#protocol/wire/batch-slices";
import type { Command } from "#protocol/wire/command";
import { warnOfUnknownFields } from "../../core/command-body.ts";
import { NO_TAGS } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { type BatchFlow, BatchFlows } from "./batch-flows.ts";
import { acceptParameters } from "./sent-run.ts";

/** A run that can be created. */
export interface DraftedRun {
  flow: BatchFlow;
  /** Null or empty for a generated name. */
  name: string | null;
  /** Canonical JSON text. */
  parametersText: string;
  tagsText: string;
  createdBy: string;
  externalId: string;
  /** The end of its row, from the creator on (NewRunRow), as JSON text: long texts are written in the steps before the last. */
  rowEnd: string;
}

export interface BatchDraft {
  readonly command: Command<"CreateRuns">;
  readonly batch: SlicedBatch;
  readonly defaults: RunDefaults;
  /** Refused runs are left out; without it, the first of them refuses the batch. */
  readonly partial: boolean;
  readonly flows: BatchFlows;
  /** One entry for each run read so far, in the order of the request. */
  readonly entries: (DraftedRun | Refusal)[];
  /** Characters of parameters, tags and names of these runs, and the number of their tags. */
  readonly size: { text: number; tags: number };
  readonly tagTexts: TagTexts;
  /** How often the batch was prepared, because flows were changed during the preparation. */
  readonly round: number;
}

/** Runs whose unknown fields the server's log names. */
const UNKNOWN_FIELDS_LOOKED_AT = 100;
const NO_SHARED_TAGS: readonly string[] = [];

export function newBatchDraft(
  command: Command<"CreateRuns">,
  batch: SlicedBatch,
  { defaults, partial }: Pick<BatchHead, "defaults" | "partial">,
  round: number,
): BatchDraft {
  const shared: RunDefaults = defaults ?? {};
  const whole = { command, batch, defaults: shared, partial: partial === true, round };
  return { ...whole, flows: new BatchFlows(shared), entries: [], size: { text: 0, tags: 0 }, tagTexts: new TagTexts() };
}

export function isDrafted({ batch, entries }: BatchDraft): boolean {
  return entries.length === runsIn(batch);
}

/** Reads the next runs; returns the refusal of the whole batch, if there is one. */
export function draftBatchRuns(turn: Turn, draft: BatchDraft): Refusal | null {
  const { batch, entries } = draft;
  const { settings, uptimeUs } = turn.state;
  const [first, beganUs] = [entries.length, uptimeUs()];
  const end = Math.min(runsIn(batch), first + Math.min(RUN_BATCH_SLICE_RUNS, settings.backfillSliceRuns));
  for (let index = first; index < end; index += 1) {
    const sent = parseRun(textOfRun(batch, index));
    // The body as a whole is no JSON, which partial does not help.
    if (sent instanceof Refusal) return ofRun(index, sent);
    const entry = draftBatchRun(turn, draft, sent.value, index);
    if (entry instanceof Refusal && !draft.partial) return ofRun(index, entry);
    entries.push(entry);
    const tooLarge = sizeRefusal(draft.size);
    if (tooLarge !== null) return tooLarge;
    // Parameters and schemas may be large: the clock only decides how many runs this step reads.
    if (uptimeUs() - beganUs > RUN_BATCH_SLICE_US) break;
  }
  return null;
}

function sizeRefusal({ text, tags }: BatchDraft["size"]): Refusal | null {
  if (tags > RUN_BATCH_TAGS_MAX) return refuse("batch_tags", RUN_BATCH_TAGS_MAX);
  return text > RUN_BATCH_TEXT_MAX ? refuse("batch_text", RUN_BATCH_TEXT_MAX) : null;
}

/** The refusal of a batch for one of its runs. */
function ofRun(index: number, { code, status, message }: Refusal): Refusal {
  return new Refusal(code, status, `runs[${index}]: ${message}`, { index });
}

function parseRun(text: string): { value: unknown } | Refusal {
  try {
    return { value: parseKeepingFractions(text, SENT_JSON) };
  } catch (cause) {
    return refuse("bad_json", cause instanceof Error ? cause.message : String(cause));
  }
}

function draftBatchRun(turn: Turn, draft: BatchDraft, value: unknown, index: number): DraftedRun | Refusal {
  const checked = validate(RunOfBatch, value);
  if (!checked.ok) return refuse("invalid", checked.error.replace(/^body: /, ""));
  if (index < UNKNOWN_FIELDS_LOOKED_AT) warnOfUnknownFields(turn, draft.command, RunOfBatch, value);
  const sent = checked.value;
  const { defaults } = draft;
  const flow = draft.flows.find(turn, sent);
  if (flow instanceof Refusal) return flow;
  const parametersText = acceptParameters(flow.schema, parametersOf(sent, defaults));
  if (typeof parametersText !== "string") return parametersText;
  const byId = sent.flow_id != null || (sent.flow == null && defaults.flow_id != null);
  const createdBy = sent.created_by ?? defaults.created_by ?? (byId ? "api" : "client");
  const tags = draft.tagTexts.of(flow, tagsOf(sent, defaults));
  const name = sent.name ?? null;
  // What the runs have in common counts for each run: a short request could otherwise become gigabytes.
  draft.size.text += parametersText.length + tags.text.length + createdBy.length + (name?.length ?? 0);
  draft.size.tags += tags.count;
  const rowEnd = `${JSON.stringify(createdBy)},${storedJson(tags.text, NO_TAGS)},${storedJson(parametersText, "{}")}]`;
  return { flow, name, parametersText, tagsText: tags.text, createdBy, externalId: turn.ids.uuid(), rowEnd };
}

/** JSON text as a JSON value of its own; null for the empty one, which is stored as NULL. */
function storedJson(text: string, empty: string): string {
  return text === empty ? "null" : JSON.stringify(text);
}

function parametersOf({ parameters }: RunOfBatch, defaults: RunDefaults): Record<string, unknown> {
  if (defaults.parameters === undefined) return parameters ?? {};
  return parameters === undefined ? defaults.parameters : mergeParts(defaults.parameters, parameters);
}

/** Runs without tags of their own share one list. */
function tagsOf({ tags }: RunOfBatch, defaults: RunDefaults): readonly string[] {
  const shared = defaults.tags ?? NO_SHARED_TAGS;
  return tags === undefined || tags.length === 0 ? shared : [...shared, ...tags];
}

/** The tags of runs with those of their flows, as JSON text. Most runs of a batch have the same: the newest of each flow is kept. */
class TagTexts {
  readonly #newest = new Map<BatchFlow, { tags: readonly string[]; text: string; count: number }>();

  of(flow: BatchFlow, tags: readonly string[]): { text: string; count: number } {
    const newest = this.#newest.get(flow);
    if (newest?.tags === tags) return newest;
    const all = [...new Set([...flow.tags, ...tags])];
    const made = { tags, text: JSON.stringify(all), count: all.length };
    this.#newest.set(flow, made);
    return made;
  }
}
