/**
 * Failures of tools, worded for a model: what is wrong, and what to do next. A failure ends its tool, so tools throw it; it
 * never leaves gateway/mcp/.
 */
import { MCP_ANSWER_BYTES_MAX } from "#protocol/limits";
import type { InnerOutcome } from "../request/inner-exchange.ts";
import { isObject } from "./json-rpc.ts";

export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  /** HTTP status of the underlying refusal, 0 without one. */
  readonly status: number;

  constructor(message: string, status = 0) {
    super(message);
    this.status = status;
  }
}

const NO_RUN = { 404: "list_runs shows which runs exist" };
const NO_SCHEDULE = { 404: "list_schedules shows which schedules exist" };
const WRONG_PARAMETERS = { 422: "Nothing was created. list_flows shows the flow's parameter_schema" };

/** What to do next, by operation and status of the refusal. */
const ADVICE: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  getRun: NO_RUN,
  cancelRun: NO_RUN,
  resumeRun: {
    ...NO_RUN,
    409: "Only a run in state Paused takes an answer; get_run shows its state",
    422: "The run still waits. get_run shows the schema of its question in state.details",
  },
  createRun: WRONG_PARAMETERS,
  createBackfill: WRONG_PARAMETERS,
  putSchedule: { 422: "Nothing was changed. Correct the schedule and call again" },
  createSchedule: { 422: "Nothing was created. Correct the schedule and call again" },
  patchSchedule: { ...NO_SCHEDULE, 422: "The schedule stays as it was. Correct the change and call again" },
  deleteSchedule: { ...NO_SCHEDULE, 409: "pause_schedule stops it, also over restarts" },
  pauseSchedule: NO_SCHEDULE,
  resumeSchedule: NO_SCHEDULE,
  createVariable: {
    409: "Nothing was stored. A person has to put that right",
    422: "Nothing was stored. Correct it and call again",
  },
};

/** Fallback for the table above, so that every refusal names a next step. */
const ADVICE_BY_STATUS: Readonly<Record<number, string>> = {
  404: "It may have been deleted: list what there is",
  409: "Nothing was changed. Look at its present state before calling again",
  413: "Nothing was changed. Send less at once",
  500: "That is a fault of the server, not of the call: do not repeat it, tell the person that the server's log has the cause",
  503: "Nothing was changed. Try again in a moment",
  507: "Nothing was changed. The disk is full: a person has to free space",
};
const ADVICE_OTHERWISE = "Nothing was changed. Correct the arguments and call again";

/** The failure for an operation that did not succeed. */
export function failureOf(operation: string, outcome: Exclude<InnerOutcome, { kind: "left" }>): ToolFailure {
  if (outcome.kind === "cut") {
    return new ToolFailure(
      "the server was interrupted and cannot say whether this was done. Look with list_runs or get_run before trying again",
    );
  }
  if (outcome.kind === "too_large") {
    const size = `${MCP_ANSWER_BYTES_MAX / 2 ** 20} MiB`;
    return new ToolFailure(
      `the answer is larger than ${size}. Nothing was changed. Ask for less: by a smaller limit or more filters`,
    );
  }
  const { status, body } = outcome;
  const advice = ADVICE[operation]?.[status] ?? ADVICE_BY_STATUS[status] ?? ADVICE_OTHERWISE;
  return new ToolFailure(`${errorText(body).replace(/\.$/, "")}. ${advice}.`, status);
}

/** A failure for invalid arguments: what is wrong with them, and what the tool accepts. */
export function argumentFailure(tool: string, input: object, wrong: string): ToolFailure {
  const { properties = {}, required = [] } = input as { properties?: Record<string, Shown>; required?: readonly string[] };
  const shown = Object.entries(properties).map(
    ([name, { type }]) => `${name} (${[type ?? "any JSON"].flat().join(" or ")}${required.includes(name) ? ", required" : ""})`,
  );
  const taken = shown.length === 0 ? "no arguments" : shown.join(", ");
  return new ToolFailure(`${wrong}. Correct that and call again; ${tool} takes ${taken}.`);
}

interface Shown {
  type?: string | readonly string[];
}

function errorText(body: string): string {
  const parsed: unknown = JSON.parse(body);
  return isObject(parsed) && typeof parsed["error"] === "string" ? parsed["error"] : body;
}
