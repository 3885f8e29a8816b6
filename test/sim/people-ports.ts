/** What people see of the committed state, and what a run waits for, in words. */
import { isTerminal } from "#protocol/records/state";
import type { CommittedRun, History } from "./checkers/history.ts";
import type { PeoplePorts } from "./model-people.ts";

type Seen = Omit<PeoplePorts, "time" | "random" | "submit" | "calm" | "durable">;

export function seenByPeople(history: History): Seen {
  const { durable, tasks } = history;
  const idsOf = (fits: (run: CommittedRun) => boolean): number[] => [...history.runs.values()].filter(fits).map(({ id }) => id);
  return {
    newestRun: () => history.newestRun,
    newestFlow: () => history.newestFlow,
    paused: () => idsOf(({ type }) => type === "Paused"),
    ofType: (wanted) => idsOf(({ type }) => type === wanted),
    running: () => idsOf(({ type, assignment }) => type === "Running" && assignment !== null),
    parked: () =>
      [...durable.parks.values()].filter(({ parked }) => parked).map(({ run }) => ({ run, wakeAt: wakeAtOf(history, run) })),
    endedDurable: () => idsOf(({ id, type }) => isTerminal(type) && durable.lineageOf.has(id)),
    children: () =>
      [...history.runs.values()]
        .filter(({ id, createdBy, type }) => createdBy.startsWith("run:") && type === "Scheduled" && !durable.isParked(id))
        .map(({ id, createdAt }) => ({ run: id, createdAt })),
    crashedChildren: () =>
      [...durable.openWaits.values()]
        .flatMap(({ child }) => (child === null ? [] : [...(durable.lineages.get(child)?.runs ?? [])]))
        .filter((id) => durable.reruns.has(id)),
    taskKeys: (run) => [...tasks.values()].filter((task) => task.run === run).map(({ dynamicKey }) => dynamicKey),
  };
}

function wakeAtOf({ runs }: History, run: number): number | null {
  const wakeAt = runs.get(run)?.details["wake_at"];
  return typeof wakeAt === "number" ? wakeAt : null;
}

/** The open waits of a run's lineage, with what children do. */
export function openWaitsOf({ durable, runs }: History, run: number): string {
  const waits = [...durable.openWaits.values()].filter(({ lineage }) => lineage === durable.lineageOf.get(run));
  const children = ({ child }: { child: number | null }): string[] =>
    [...(child === null ? [] : (durable.lineages.get(child)?.runs ?? []))].map((id) => ` run ${id} ${runs.get(id)?.name}`);
  return waits.map((wait) => `, wait ${wait.id} ${wait.kind} ${wait.due ?? ""}${children(wait).join("")}`).join("");
}
