/** One run: its outcome and the cause, then its parts in tabs. */
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Event } from "#protocol/records/event";
import type { Run } from "#protocol/records/run";
import { useQuery } from "../../api/query.ts";
import { useKeys } from "../../input/keys.ts";
import { Tabs } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { cancelRuns, isActive } from "../../records/run-actions.ts";
import { param, stepParams, withParams } from "../../router/router.ts";
import type { PageProps } from "../pages.ts";
import { RunHeader } from "./header.tsx";
import { useMoves } from "./moves.ts";
import { useNeighbours } from "./neighbours.ts";
import { askToRerun, RerunDialog } from "./rerun-dialog.tsx";
import { ResumeForm } from "./resume-form.tsx";
import "./run.css";

export interface TabProps {
  run: Run;
  /** The run's moves from state to state, oldest first; null until they are read. */
  moves: readonly Event[] | null;
}

interface TabEntry {
  id: string;
  name: string;
  load: () => Promise<{ Tab: ComponentType<TabProps> }>;
}

/** Each tab is loaded when it is opened. */
const TABS: readonly TabEntry[] = [
  { id: "timeline", name: "Timeline", load: () => import("./timeline/timeline-tab.tsx") },
  { id: "logs", name: "Logs", load: () => import("./logs/logs-tab.tsx") },
  { id: "tasks", name: "Tasks", load: () => import("./tasks-tab.tsx") },
  { id: "graph", name: "Graph", load: () => import("./graph/graph-tab.tsx") },
  { id: "waits", name: "Waits", load: () => import("./waits-tab.tsx") },
  { id: "children", name: "Child runs", load: () => import("./child-runs-tab.tsx") },
  { id: "events", name: "Events", load: () => import("./events-tab.tsx") },
  { id: "artifacts", name: "Artifacts", load: () => import("./artifacts-tab.tsx") },
  { id: "input", name: "Input", load: () => import("./input-tab.tsx") },
];

const OF_DURABLE_RUNS: ReadonlySet<string> = new Set(["waits", "children"]);

export function Page({ id }: PageProps): JSX.Element {
  const query = useQuery<Run>(`/api/runs/${id}`, { run: id, live: { "run.updated": true } });
  const { data: run, error } = query;
  if (error?.status === 404)
    return (
      <Empty title={`There is no run #${id}`}>
        It was deleted, by hand or by the retention of old runs. <a href="/runs">All runs</a>
      </Empty>
    );
  if (run === null) return error === null ? <Loading /> : <Failure what="The run" error={error} again={query.refresh} />;
  return <Loaded run={run} />;
}

function Loaded({ run }: { run: Run }): JSX.Element {
  const tab = TABS.find(({ id }) => id === param("tab")) ?? (TABS[0] as TabEntry);
  const neighbours = useNeighbours(run);
  const moves = useMoves(run.id);
  const go = (id: string) => () => stepParams({ tab: id });
  useKeys(
    [
      { keys: "l", does: "logs", run: go("logs") },
      ...(isActive(run)
        ? [{ keys: "c", does: "cancel the run", run: () => cancelRuns([run]) }]
        : [{ keys: "r", does: "run it again", run: () => askToRerun(run) }]),
      { keys: "[", does: "previous run of the flow", run: () => neighbours.go("previous") },
      { keys: "]", does: "next run of the flow", run: () => neighbours.go("next") },
    ],
    { group: "Run" },
  );
  return (
    <>
      <RunHeader {...{ run, neighbours }} />
      {run.state.type === "Paused" && <ResumeForm run={run} />}
      <Tabs
        tabs={TABS.filter(({ id }) => !OF_DURABLE_RUNS.has(id) || run.lineage_id !== undefined).map(({ id, name }) => ({
          id,
          name,
          count: countOf(id, run),
        }))}
        chosen={tab.id}
        href={(id) => withParams({ tab: id })}
      />
      <TabPanel key={tab.id} entry={tab} run={run} moves={moves} />
      <RerunDialog />
    </>
  );
}

function countOf(tab: string, run: Run): number | undefined {
  if (tab !== "tasks") return undefined;
  const all = Object.values(run.task_counts ?? {}).reduce((sum, part) => sum + part, 0);
  return all === 0 ? undefined : all;
}

function TabPanel({ entry, run, moves }: TabProps & { entry: TabEntry }): JSX.Element | null {
  const [Tab, setTab] = useState<ComponentType<TabProps> | null>(null);
  useEffect(() => {
    entry.load().then((module) => setTab(() => module.Tab));
  }, []);
  return <div class="panel">{Tab !== null && <Tab run={run} moves={moves} />}</div>;
}
