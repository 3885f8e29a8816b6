/** The clock status in `GET /api/server`: null when no action is needed. */
import { CLOCK_SCHEDULES_SHOWN } from "#protocol/limits";
import type { ClockProblem } from "#protocol/records/server";
import { lengthText, stepText } from "../../core/state/clock-step-text.ts";
import type { Turn } from "../../core/turn.ts";
import { rulesAhead, schedulesAhead } from "./clock-repair.ts";

/** More names would not make the sentence clearer; `schedules` of the response lists them. */
const NAMED_IN_TEXT = 3;
const COMMAND = "`millrace doctor --accept-clock`";

export function describeClock(turn: Turn): ClockProblem | null {
  const { openStep } = turn.state.clock;
  const schedules = schedulesAhead(turn);
  const rules = rulesAhead(turn).length;
  if (openStep === null && schedules.length + rules === 0) return null;
  const parts: string[] = [];
  if (openStep !== null) {
    const left = lengthText(Math.max(0, openStep.leftUs));
    parts.push(`${stepText(openStep)}. Nothing is deleted for its age until ${COMMAND}, or for another ${left}.`);
  }
  if (schedules.length + rules > 0) {
    const names = schedules.slice(0, NAMED_IN_TEXT).map(({ id, flow }) => `${flow.name} (schedule ${id})`);
    const more = schedules.length > names.length ? [`${schedules.length - names.length} more`] : [];
    const clocks = rules === 0 ? [] : [`${rules} ${rules === 1 ? "rule" : "rules"} with a clock`];
    const silent = [...names, ...more, ...clocks].join(", ");
    parts.push(
      `Silent, because their next time was decided while the clock was ahead: ${silent}. ${COMMAND} lets them go on from now.`,
    );
  }
  const message = parts.join(" ");
  return {
    message: `${message.charAt(0).toUpperCase()}${message.slice(1)}`,
    since: openStep?.noticedUs ?? null,
    step_secs: openStep === null ? null : openStep.stepUs / 1e6,
    retention_waits_secs: openStep === null ? null : Math.max(0, openStep.leftUs) / 1e6,
    schedules: schedules
      .slice(0, CLOCK_SCHEDULES_SHOWN)
      .map(({ id, flow, next_fire }) => ({ id, flow: flow.name, project: flow.project, next_fire })),
    schedules_count: schedules.length,
    rules_count: rules,
  };
}
