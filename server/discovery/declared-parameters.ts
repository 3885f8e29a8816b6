/** Checks the parameters of the schedules that a flow declares, with the check that the server applies at registration. */
import { type FlowOfFire, parametersError } from "#actors/scheduler/fires/fire-parameters";
import { readSpec } from "#actors/scheduler/recurrence/spec";
import { ScheduleDecl } from "#protocol/records/schedule";
import { validate } from "#protocol/values/validate";
import { DEFAULTS } from "./declared-schedules.ts";

/** One text per schedule whose parameters do not fit the flow; schedules that are invalid otherwise have none. */
export function parameterProblems(flow: FlowOfFire, declared: readonly unknown[]): string[] {
  return declared.flatMap((entry, index) => {
    const checked = validate(ScheduleDecl, entry);
    const read = checked.ok ? readSpec(checked.value, DEFAULTS) : checked;
    if (!checked.ok || !read.ok) return [];
    const { parameters = null, key } = checked.value;
    // Which fire is rendered does not matter: each has the same names, with values of the same types.
    const error = parametersError({ nowUs: 0 }, flow, read.ready, parameters, key ?? `code-${index}`);
    return error === null ? [] : [`schedule ${index}: ${error}`];
  });
}
