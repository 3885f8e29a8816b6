/** One sentence: why a run waits, or why it ended in its state. Empty for runs that need no reason. */

import type { Queue, QueuedRun } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import { duration, roughDuration, tickingDuration } from "../format/duration.ts";
import { withMarksShown } from "../format/marks.ts";
import { nowUs } from "../format/now.ts";
import { ordinal } from "../format/number.ts";
import { plannedTime } from "../format/time.ts";
import { triesOf } from "./attempts.ts";
import type { Waiting } from "./queue.ts";

export interface WhyContext {
  waiting: Waiting;
  resources: Queue["resources"];
  /** Usual duration of runs of this flow in microseconds, null if unknown. */
  typical: number | null;
}

/** The sentence; a phrase of one clause has no period. */
export function whyOf(run: Run, context: WhyContext): string {
  return withMarksShown(saidOf(run, context));
}

function saidOf(run: Run, context: WhyContext): string {
  const { state } = run;
  const message = firstLine(state.message ?? "");
  switch (state.type) {
    case "Scheduled":
      return whyScheduled(run, message, context);
    case "Pending":
      return run.engine_pid === null || run.engine_pid === undefined
        ? "Starting"
        : `Accepted by engine ${run.engine_pid}, starting`;
    case "Running":
      return whyRunning(run, context.typical);
    case "Paused":
      return message === "" ? "Waits for an answer" : `Asks: ${message}`;
    case "Cancelling":
      return `Asked to stop ${roughDuration(nowUs() - state.timestamp)} ago`;
    case "Failed":
    case "Crashed":
      return message === "" && triesOf(run) > 1 ? `On attempt ${triesOf(run)}` : message;
    default:
      return message;
  }
}

function whyScheduled(run: Run, message: string, context: WhyContext): string {
  const queued = context.waiting.get(run.id);
  if (run.state.name === "AwaitingRetry") return whyRetry(message, queued);
  const reason = reasonText(queued, context.resources, run.scheduled_time ?? null);
  if (run.state.name !== "Late" || run.scheduled_time === null || run.scheduled_time === undefined) return reason || message;
  const late = `${roughDuration(nowUs() - run.scheduled_time)} late`;
  return reason === "" ? late : `${late}; ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

function whyRetry(message: string, queued: QueuedRun | undefined): string {
  const due = queued?.scheduled_time ?? null;
  const when = due !== null && due > nowUs() ? `Retries in ${tickingDuration(due - nowUs())}` : "Waits before the next attempt";
  return message === "" ? when : `${when}; last attempt: ${message}`;
}

function whyRunning(run: Run, typical: number | null): string {
  if (run.start_time === null || run.start_time === undefined) return "";
  const attempt = triesOf(run) > 1 ? `Attempt ${triesOf(run)}` : "";
  const past = typical !== null && nowUs() - run.start_time > typical * 1.5 ? `Past its typical ${duration(typical)}` : "";
  return [attempt, past].filter(Boolean).join("; ");
}

/** The holder of the missing resource, its usage, and the run's place in the queue. */
export function reasonText(queued: QueuedRun | undefined, resources: Queue["resources"], scheduledUs: number | null): string {
  if (queued === undefined)
    return scheduledUs !== null && scheduledUs > nowUs() ? `Waits for its time, ${plannedTime(scheduledUs)}` : "";
  const { code, object, text } = queued.reason;
  const place = queued.place === null ? "" : `; ${ordinal(queued.place)} in line`;
  switch (code) {
    case "resource": {
      const held = resources.find(({ name }) => name === object);
      const what = resourceWords(object ?? "");
      return held === undefined ? `Waits for ${what}${place}` : `Waits for ${what}, ${held.used} of ${held.total} taken${place}`;
    }
    case "no_engine":
      return `Waits for a free engine${place}`;
    case "not_due":
      return scheduledUs === null ? "Waits for its time" : `Waits for its time, ${plannedTime(scheduledUs)}`;
    case "held":
      return "Waits for the check of its backfill";
    default:
      return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  }
}

/** The user's name for a resource: the server also keeps the limits of flows and backfills as resources. */
export function resourceWords(name: string): string {
  if (name.startsWith("flow:")) return `the cap of ${name.slice(5).replace("/", " / ")}`;
  return name.startsWith("backfill:") ? `the cap of backfill ${name.slice(9)}` : name;
}

export function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
