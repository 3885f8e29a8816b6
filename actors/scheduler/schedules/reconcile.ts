/**
 * Reconciles the schedules declared in code with the stored ones when a flow is registered from code. Only rows of source
 * "code" are changed, except rows that a person detached with `persist`.
 */
import { type CatchupPolicy, ScheduleDecl } from "#protocol/records/schedule";
import { canonicalJson } from "#protocol/values/json";
import { validate } from "#protocol/values/validate";
import type { Flow } from "../../core/state/flow.ts";
import type { Schedule } from "../../core/state/schedule.ts";
import type { Turn } from "../../core/turn.ts";
import { SCHEDULER } from "../../names.ts";
import { parametersError } from "../fires/fire-parameters.ts";
import type { ReadySpec } from "../recurrence/spec.ts";
import {
  addSchedule,
  changeParameters,
  changeSpec,
  checkSpec,
  rebuild,
  removeSchedule,
  sentParameters,
} from "./edit-schedule.ts";

/** Updates the stored schedules to match the declared ones. Returns the error of a declaration, or null. */
export function reconcileSchedules(turn: Turn, flow: Flow, declared: unknown): string | null {
  const stored = turn.state.schedules.of(flow).filter(({ source }) => source === "code");
  const errors: string[] = [];
  const seen = new Set<string>();
  const list: readonly unknown[] = Array.isArray(declared) ? declared : [];
  for (const [index, entry] of list.entries()) {
    const error = reconcileOne(turn, flow, stored, seen, entry, index);
    if (error !== null) errors.push(`schedule ${index}: ${error}`);
  }
  for (const schedule of stored) {
    if (!schedule.persist && !seen.has(schedule.code_key ?? "")) removeSchedule(turn, schedule);
  }
  turn.out.send(SCHEDULER, { kind: "SchedulesChanged" });
  return errors.length === 0 ? null : errors.join("; ");
}

function reconcileOne(
  turn: Turn,
  flow: Flow,
  stored: readonly Schedule[],
  seen: Set<string>,
  entry: unknown,
  index: number,
): string | null {
  const checked = validate(ScheduleDecl, entry);
  if (!checked.ok) return checked.error;
  const declaration = checked.value;
  const key = declaration.key ?? `code-${index}`;
  if (seen.has(key)) return `the key "${key}" is used twice`;
  // An invalid declaration leaves its row unchanged.
  seen.add(key);
  const known = stored.find(({ code_key }) => code_key === key);
  const taken = known === undefined && turn.state.schedules.of(flow).some(({ code_key }) => code_key === key);
  if (taken) return `the key "${key}" is that of a schedule that was not declared in code: delete it, or choose another key`;
  if (known?.persist === true) return null;
  // An interval without an anchor keeps its first anchor.
  const kept = declaration.kind === "interval" && declaration.anchor == null && known?.spec.kind === "interval";
  const sent = kept && known.spec.kind === "interval" ? { ...declaration, anchor: known.spec.anchor } : declaration;
  const ready = checkSpec(turn, sent, turn.state.settings.timezone, known?.spec ?? null);
  if (!ready.ok) return ready.error;
  const wrong = parametersError(turn, flow, ready.ready, sentParameters(declaration.parameters), key);
  if (wrong !== null) return wrong;
  if (known !== undefined) resetTo(turn, known, ready.ready, declaration);
  else {
    const policy = { ...declaration, catchup: declaration.catchup ?? catchupDefault(turn) };
    addSchedule(turn, flow, policy, ready.ready, { source: "code", codeKey: key, persist: false });
  }
  return null;
}

/** The configured policy, for declarations without a policy. */
function catchupDefault(turn: Turn): CatchupPolicy {
  const { catchupDefault: standard } = turn.state.settings;
  return standard === "latest" || standard === "all" ? standard : "skip";
}

function resetTo(turn: Turn, schedule: Schedule, ready: ReadySpec, declaration: ScheduleDecl): void {
  const catchup = declaration.catchup ?? catchupDefault(turn);
  const catchupMax = declaration.catchup_max ?? schedule.catchup_max;
  const same = JSON.stringify(ready.spec) === JSON.stringify(schedule.spec);
  const parameters = sentParameters(declaration.parameters);
  const kept = canonicalJson(parameters) === canonicalJson(schedule.parameters);
  if (same && kept && catchup === schedule.catchup && catchupMax === schedule.catchup_max) return;
  schedule.catchup = catchup;
  schedule.catchup_max = catchupMax;
  if (!same) changeSpec(turn, schedule, ready);
  changeParameters(turn, schedule, parameters);
  rebuild(turn, schedule);
}
