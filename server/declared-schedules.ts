/** Checks the schedules that a flow declares as the server does when it takes the flow over. */
import { readSpec } from "#actors/scheduler/spec";
import { ScheduleDecl } from "#protocol/schedule";
import { validate } from "#protocol/validate";

/** One text for each that cannot be used. */
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
  // Neither zone nor anchor that the server fills in can be wrong.
  const read = readSpec(checked.value, { timezone: "UTC", anchorUs: 0 });
  return read.ok ? null : read.error;
}
