/** Why a report with these events is refused as a whole: a park or a step that cannot be meant. */
import { type Refusal, refuse } from "#protocol/errors";
import { STEP_INLINE_BYTES_MAX } from "#protocol/limits";
import type { StepReport } from "#protocol/records/durable";
import type { ReportEvent } from "#protocol/records/engine";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { refusePark } from "./park.ts";

export function refuseEvents(turn: Turn, run: Run, events: readonly ReportEvent[]): Refusal | null {
  for (const event of events) {
    const refusal = refuseEvent(turn, run, event);
    if (refusal !== null) return refusal;
  }
  return null;
}

export function refuseEvent(turn: Turn, run: Run, event: ReportEvent): Refusal | null {
  if (event.kind === "park") return refusePark(turn, run, event);
  return event.kind === "step" ? refuseStep(event) : null;
}

/** Without a result, no attempt could continue behind the step. */
function refuseStep({ name, value, file }: StepReport): Refusal | null {
  if ((value == null) === (file == null)) return refuse("invalid", `step "${name}" needs either \`value\` or \`file\``);
  const isTooLarge = value != null && Buffer.byteLength(value) > STEP_INLINE_BYTES_MAX;
  return isTooLarge ? refuse("value_too_large", `the value of step "${name}"`, STEP_INLINE_BYTES_MAX) : null;
}
