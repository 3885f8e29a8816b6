/** The check of the files that hold large results of steps. */
import type { checkStepFiles } from "#storage/home/step-files";
import type { StoreCheck } from "#storage/invariants/check-store";
import type { Finding } from "#storage/invariants/invariant";

export function stepFileCheck({ count, problems }: ReturnType<typeof checkStepFiles>): StoreCheck {
  const findings = problems.map((text): Finding => ({ level: "broken", text }));
  return {
    id: "step-files",
    title: `the files of large step results are there: ${count}`,
    checked: true,
    unchecked: null,
    findings,
  };
}
