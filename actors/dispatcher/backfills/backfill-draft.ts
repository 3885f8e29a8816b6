/**
 * The runs of a backfill that is being prepared. Runs are made some thousand at a time, so that other commands run in
 * between, and stay outside the live state until the step that makes the last of them adds all: the decision remains a single
 * one, and a crash before it leaves no trace.
 */

import { BACKFILL_BYTES_MAX, PARAMETERS_BYTES_MAX } from "#protocol/limits";
import type { BackfillBody } from "#protocol/records/backfill";
import type { State } from "#protocol/records/state";
import { canonicalJson, mergeParts } from "#protocol/values/json";
import { checkParameter, checkParameters } from "#protocol/values/parameters";
import type { JsonMap } from "#protocol/values/scalar";
import { writeUuid } from "#protocol/values/uuid";
import type { Command } from "#protocol/wire/command";
import { type Backfill, backfillTag } from "../../core/state/backfill.ts";
import type { Flow } from "../../core/state/flow.ts";
import { lengthOfTexts, NO_TAGS, type Run, type RunTexts, UNSTARTED } from "../../core/state/run.ts";
import { CREATED_LENGTH } from "../../core/state/run-marks.ts";
import type { Turn } from "../../core/turn.ts";
import { continueChain } from "../../rule-engine/reactions/chain.ts";
import { admitRun } from "../creation/create-run.ts";
import { isKeyed, noteKeyedRun } from "../creation/fan-in.ts";
import { backfillValues, textOf, type ValueForm, valueForm } from "./backfill-values.ts";

/** The validated request. */
export interface WantedRuns {
  parameter: string;
  form: ValueForm;
  /** The values in the order of the runs' creation, see backfillValues. */
  units: number[];
  intervalSeconds: number;
  extra: JsonMap;
  /** The parameters of a run before and after its value, as canonical JSON text. */
  head: string;
  tail: string;
}

export interface BackfillDraft {
  readonly command: Command;
  readonly body: BackfillBody;
  readonly wanted: WantedRuns;
  /** The schema against which the parameters were checked. */
  readonly schema: Flow["parameter_schema"];
  /** The runs made so far; still without id and backfill. */
  readonly runs: Run[];
  readonly values: string[];
  /** 16 bytes for each run. */
  readonly externalIds: Uint8Array;
}

/** The values and fixed parameters, or the reason for a refusal. */
export function readWanted(flow: Flow, body: BackfillBody): WantedRuns | string {
  const { parameter } = body;
  const properties = flow.parameter_schema?.["properties"] as Record<string, unknown> | undefined;
  if (properties === undefined || !Object.hasOwn(properties, parameter)) return `flow has no parameter "${parameter}"`;
  const form = valueForm(properties[parameter]);
  if (form === null) return `parameter "${parameter}" is not a date or datetime`;
  const listed = backfillValues(form, body.start, body.end, body.interval);
  if (!listed.ok) return listed.error;
  const { intervalSeconds } = listed;
  const units = body.reverse === true ? listed.units.reverse() : listed.units;
  const extra = body.extra_parameters ?? {};
  const sent = mergeParts(extra, { [parameter]: textOf(form, units[0] ?? 0) });
  const checked = checkParameters(flow.parameter_schema, sent);
  if (!checked.ok) return checked.error;
  const text = around(checked.parameters, parameter);
  const bytes = Buffer.byteLength(text.head) + Buffer.byteLength(text.tail);
  if (bytes > PARAMETERS_BYTES_MAX) return `parameters exceed ${PARAMETERS_BYTES_MAX} bytes`;
  if (bytes * units.length > BACKFILL_BYTES_MAX)
    return `${units.length} runs with parameters of ${bytes} bytes exceed ${BACKFILL_BYTES_MAX} bytes together; use several backfills`;
  return { parameter, form, units, intervalSeconds, extra, ...text };
}

/** The JSON text before and after a parameter's value: the common parts of two texts with different values. */
function around(parameters: JsonMap, parameter: string): { head: string; tail: string } {
  const textWith = (value: string): string => canonicalJson(mergeParts(parameters, { [parameter]: value }));
  const [zero, one] = [textWith("0"), textWith("1")];
  let at = 0;
  while (zero[at] === one[at]) at += 1;
  return { head: zero.slice(0, at), tail: zero.slice(at + 1) };
}

export function newDraft(command: Command, body: BackfillBody, flow: Flow, wanted: WantedRuns): BackfillDraft {
  const externalIds = new Uint8Array(wanted.units.length * 16);
  return { command, body, wanted, schema: flow.parameter_schema, runs: [], values: [], externalIds };
}

/** Makes the next runs; returns an error when a value does not fit the parameter. */
export function draftRuns(turn: Turn, flow: Flow, draft: BackfillDraft): string | null {
  const { wanted, runs, values, externalIds, schema } = draft;
  const { parameter, form, units, head, tail } = wanted;
  const end = Math.min(units.length, runs.length + turn.state.settings.backfillSliceRuns);
  for (let index = runs.length; index < end; index += 1) {
    const value = textOf(form, units[index] ?? 0);
    const wrong = checkParameter(schema, parameter, value);
    if (wrong !== null) return wrong;
    const externalId = turn.ids.uuid();
    writeUuid(externalId, externalIds, index * 16);
    values.push(value);
    const name = `${flow.name}-${value.replaceAll(":", "")}`;
    runs.push(draftRun(flow, { external_id: externalId, name, parameters: head + value + tail, tags: NO_TAGS }));
  }
  return null;
}

const NOTHING_YET: State = { type: "Scheduled", name: "Scheduled", timestamp: 0, message: null, details: {} };

function draftRun(flow: Flow, texts: RunTexts): Run {
  return {
    id: 0,
    flow,
    texts,
    textLength: 0,
    priority: 0,
    attempt: 0,
    reruns: 0,
    created_by: "",
    created_at: 0,
    scheduled_time: null,
    schedule_id: null,
    backfill_id: null,
    parent_run_id: null,
    fire_time: null,
    state: NOTHING_YET,
    movedUs: 0,
    ...UNSTARTED,
    marksLength: CREATED_LENGTH,
  };
}

/** Adds the runs of a complete draft: one operation stores the runs, another their creation events. */
export function addDraftedRuns(turn: Turn, flow: Flow, backfill: Backfill, draft: BackfillDraft): void {
  const { runs, values, externalIds, wanted } = draft;
  const { nextIds } = turn.state;
  const firstId = nextIds.run;
  nextIds.run += runs.length;
  const tag = backfillTag(backfill.id);
  const tags = JSON.stringify([...new Set([...flow.tags, tag])]);
  const { priority } = flow.options;
  turn.rows.put("insert_backfill_runs", {
    first_id: firstId,
    count: runs.length,
    external_ids: externalIds,
    flow_id: flow.id,
    tags,
    priority,
    created_by: tag,
    created_at: turn.nowUs,
    backfill_id: backfill.id,
    name_head: `${flow.name}-`,
    parameters_head: wanted.head,
    parameters_tail: wanted.tail,
    values: values.join(""),
  });
  turn.rows.countNewRuns(flow, runs.length);
  turn.events.ofNewRuns(flow, firstId, runs.length);
  backfill.counts.set("Scheduled", runs.length);
  const state: State = { ...NOTHING_YET, timestamp: turn.nowUs };
  const keyed = isKeyed(turn, flow);
  for (const [index, run] of runs.entries()) {
    run.id = firstId + index;
    run.flow = flow;
    run.texts = { ...turn.state.textsOf(run), tags };
    run.textLength = lengthOfTexts(run.texts);
    run.priority = priority;
    run.created_by = tag;
    run.created_at = turn.nowUs;
    run.backfill_id = backfill.id;
    run.state = state;
    run.movedUs = turn.receivedUs;
    turn.state.fileRun(run, turn.number);
    if (turn.ruleDepth > 0) continueChain(turn, run, run);
    if (keyed) noteKeyedRun(turn, run);
    admitRun(turn, run);
  }
}
