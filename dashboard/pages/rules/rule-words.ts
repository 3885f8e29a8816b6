/** Rules in words, for lists. */

import type { RuleAction, RuleMatch, RuleRow } from "#protocol/records/rule";
import { secondsText } from "../../format/duration.ts";
import { withMarksShown } from "../../format/marks.ts";
import { listed } from "../../format/number.ts";
import { scheduleText } from "../../records/schedule-words.ts";

/** "run.failed or run.crashed of ingest with tag hourly". */
export function matchText(match: RuleMatch | null | undefined): string {
  const { events = [], flows = [], states = [], tags = [], project } = match ?? {};
  const parts = [
    (events ?? []).length === 0 ? "any event" : (events ?? []).join(" or "),
    ...((states ?? []).length > 0 ? [`in ${(states ?? []).join(" or ")}`] : []),
    ...((flows ?? []).length > 0 ? [`of ${(flows ?? []).join(" or ")}`] : []),
    ...(project == null || project === "" ? [] : [`in project ${project}`]),
    ...((tags ?? []).length > 0 ? [`with tag ${(tags ?? []).join(" or ")}`] : []),
  ];
  return withMarksShown(parts.join(" "));
}

/** The condition of a rule. */
export function whenText({ when, unless, within, at }: RuleRow): string {
  if (at != null) {
    const back = within == null ? "" : ` in the last ${secondsText(within)}`;
    const clock = scheduleText({ kind: "cron", cron: at.cron, day_or: true, timezone: at.tz ?? null });
    return `${clock}, if no ${matchText(unless)} came${back}`;
  }
  if (unless == null) return matchText(when);
  return `${matchText(when)}, if no ${matchText(unless)} follows within ${secondsText(within ?? 0)}`;
}

/** The effect of an action, in a few words. */
export function actionText({ kind, flow, schedule_id, url, state_type, to, callable }: RuleAction): string {
  const schedule = schedule_id == null ? `the schedules of ${flow ?? "the flow"}` : `schedule ${schedule_id}`;
  switch (kind) {
    case "run_flow":
      return `run ${flow}`;
    case "cancel_run":
      return "cancel the run";
    case "set_state":
      return `set the run to ${state_type}`;
    case "pause_schedule":
      return `pause ${schedule}`;
    case "resume_schedule":
      return `resume ${schedule}`;
    case "webhook":
      return `send a webhook to ${hostOf(url ?? "")}`;
    case "email":
      return `mail ${listed(to ?? [])}`;
    case "call":
      return `call ${callable}`;
    default:
      return String(kind);
  }
}

export function doText({ do: actions }: RuleRow): string {
  return withMarksShown((actions ?? []).map(actionText).join(", "));
}

function hostOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]+)/i.exec(url)?.[1] ?? url;
}
