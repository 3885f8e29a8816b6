/**
 * Failures of tools, in words for a model: what is wrong, and what to do next. A failed call ends its tool, so failures are
 * thrown by it; they never leave gateway/mcp/.
 */
import type { InnerOutcome } from "../inner-exchange.ts";
import { isObject } from "./json-rpc.ts";

export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  /** Status of the refusal behind it, 0 without one. */
  readonly status: number;

  constructor(message: string, status = 0) {
    super(message);
    this.status = status;
  }
}

const NO_SCHEDULE = { 404: "list_schedules shows which schedules exist" };

/** What to do next, by operation and status of its refusal; `*` stands for every operation. */
const ADVICE: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  getRun: { 404: "list_runs shows which runs exist" },
  cancelRun: { 404: "list_runs shows which runs exist" },
  resumeRun: {
    404: "list_runs shows which runs exist",
    409: "Only a run in state Paused takes an answer; get_run shows its state",
  },
  createRun: { 422: "list_flows shows the flow's parameter_schema" },
  createBackfill: { 422: "list_flows shows the flow's parameter_schema" },
  patchSchedule: NO_SCHEDULE,
  deleteSchedule: NO_SCHEDULE,
  pauseSchedule: NO_SCHEDULE,
  resumeSchedule: NO_SCHEDULE,
  "*": {
    503: "Nothing was changed. Try again in a moment",
    507: "Nothing was changed. The disk is full: a person has to free space",
  },
};

/** The failure of an operation that was not answered with success. */
export function failureOf(operation: string, outcome: Exclude<InnerOutcome, { kind: "left" }>): ToolFailure {
  if (outcome.kind === "cut") {
    return new ToolFailure(
      "the server was interrupted and cannot say whether this was done. Look with list_runs or get_run before trying again",
    );
  }
  const said = errorText(outcome.body);
  const advice = ADVICE[operation]?.[outcome.status] ?? ADVICE["*"]?.[outcome.status];
  return new ToolFailure(advice === undefined ? said : `${said}. ${advice}.`, outcome.status);
}

function errorText(body: string): string {
  const parsed: unknown = JSON.parse(body);
  return isObject(parsed) && typeof parsed["error"] === "string" ? parsed["error"] : body;
}
