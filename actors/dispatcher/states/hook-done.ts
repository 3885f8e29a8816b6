/** The answer of a hook that the user-code process called (hooks.ts). */
import { type ReportEvent, ReportRequest } from "#protocol/records/engine";
import { validate } from "#protocol/values/validate";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { closeOutbound } from "../../rule-engine/reactions/outbound-messages.ts";
import type { HookDone } from "../../user-code/user-code-calls.ts";
import { applyHookItems } from "../reports/report.ts";

const ERROR = 40;

/** Stores the log lines and artifacts of a hook under its run. A repeated answer changes nothing. */
export function hookDone(turn: Turn, { id, run_id, items, error }: HookDone): void {
  if (!closeOutbound(turn, id)) return;
  const run = turn.state.findRun(run_id);
  if (run === undefined) return;
  const events = items.map((item, index) => ({ ...(item as object), seq: index + 1 }));
  const checked = validate(ReportRequest, { engine_id: "user-code", run_id, events });
  const wrong = error ?? (checked.ok ? null : `what it reported cannot be stored: ${checked.error}`);
  const reported = checked.ok ? checked.value.events : [];
  applyHookItems(turn, run, wrong === null ? reported : [...reported, lineOf(turn, run, `a hook failed: ${wrong}`)]);
}

function lineOf(turn: Turn, run: Run, message: string): ReportEvent {
  const line = { run_id: run.id, level: ERROR, logger: "millrace.run", timestamp: turn.nowUs, message };
  return { kind: "logs", seq: 0, logs: [line] };
}
