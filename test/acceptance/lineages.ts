/** Runs with the runs that repeat them. */
import type { Millrace, Run } from "#sdk/client/index";

const REPEATS = /^(?:crash|retry):(\d+)$/;

/** Whether a run repeats another one, after a crash or because a person retried it. */
export function isRepetition({ created_by }: Run): boolean {
  return REPEATS.test(created_by ?? "");
}

export async function allRuns(client: Millrace): Promise<Run[]> {
  const runs: Run[] = [];
  for await (const run of client.runs.list({}, { pageSize: 200 })) runs.push(run);
  return runs;
}

/** The run, its crash reruns and its retries by a person, by the run. */
export function lineagesOf(runs: readonly Run[]): (id: number) => Run[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const next = new Map<number, Run>();
  for (const run of runs) {
    const [, earlier] = REPEATS.exec(run.created_by ?? "") ?? [];
    if (earlier !== undefined) next.set(Number(earlier), run);
  }
  return (id) => {
    const line: Run[] = [];
    for (let run = byId.get(id); run !== undefined; run = next.get(run.id)) line.push(run);
    return line;
  };
}
