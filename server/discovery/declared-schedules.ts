/** Checks the schedules that a flow declares, with the checks that the server applies at registration. */
import { readSpec } from "#actors/scheduler/recurrence/spec";
import { ScheduleDecl } from "#protocol/records/schedule";
import { validate } from "#protocol/values/validate";

/** The zone and anchor that the server fills in are always valid. */
export const DEFAULTS = { timezone: "UTC", anchorUs: 0 } as const;

/** One text per invalid schedule. */
export function scheduleProblems(declared: readonly unknown[]): string[] {
  const keys = new Set<string>();
  return declared.flatMap((entry, index) => {
    const error = errorOf(entry, index, keys);
    return error === null ? [] : [`schedule ${index}: ${error}`];
  });
}

function errorOf(entry: unknown, index: number, keys: Set<string>): string | null {
  const checked = validate(ScheduleDecl, entry);
  if (!checked.ok) return checked.error;
  const key = checked.value.key ?? `code-${index}`;
  if (keys.has(key)) return `the key "${key}" is used twice`;
  keys.add(key);
  const read = readSpec(checked.value, DEFAULTS);
  return read.ok ? null : read.error;
}
